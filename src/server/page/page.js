'use strict';

const $ = (id) => document.getElementById(id);
const get = (path) => fetch('/api' + path).then((answer) => (answer.ok ? answer.json() : Promise.reject(answer)));
const post = (path, body) => fetch('/api' + path, { method: 'POST', body: body === undefined ? '' : body });

let clientId = '';
let current = '';
let previewUrl = '';

function element(tag, text, parent) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function say(text, isError = false) {
  $('message').textContent = text;
  $('message').className = isError ? 'error' : '';
}

function show(blob) {
  if (previewUrl) URL.revokeObjectURL(previewUrl);
  previewUrl = URL.createObjectURL(blob);
  $('preview').src = previewUrl;
}

const viewPath = (image) => '/api/view?' + new URLSearchParams({ filename: image.filename, subfolder: image.subfolder || '', type: image.type || 'output' });

async function fillChoices() {
  const info = await get('/object_info/KSampler');
  const choices = info.KSampler.input.required.sampler_name;
  const names = Array.isArray(choices[0]) ? choices[0] : choices[1].options;
  for (const name of names) element('option', name, $('sampler'));
  for (const name of await get('/models/checkpoints')) element('option', name, $('model'));
  for (const name of await get('/models/loras')) {
    const row = element('div', undefined, $('loras'));
    row.className = 'lora';
    const on = element('input', undefined, row);
    on.type = 'checkbox';
    on.setAttribute('aria-label', name);
    element('span', name, row);
    const strength = element('input', undefined, row);
    strength.type = 'number';
    strength.step = '0.1';
    strength.value = '1';
    row.dataset.name = name;
  }
}

async function showModels() {
  const box = $('models');
  for (const kind of await get('/models')) {
    const names = await get('/models/' + kind);
    if (!names.length) continue;
    element('h3', kind, box);
    const list = element('ul', undefined, box);
    for (const name of names) element('li', name, list);
  }
}

// The seed as it was typed: a browser's numbers would round it beyond 2^53.
function workflowText() {
  const number = (id) => Number($(id).value);
  const prompt = {
    4: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: $('model').value } },
    5: { class_type: 'EmptyLatentImage', inputs: { width: number('width'), height: number('height'), batch_size: 1 } },
  };
  let model = ['4', 0];
  let clip = ['4', 1];
  let id = 20;
  for (const row of document.querySelectorAll('.lora')) {
    const [on, strength] = row.querySelectorAll('input');
    if (!on.checked) continue;
    const value = Number(strength.value);
    prompt[id] = { class_type: 'LoraLoader', inputs: { lora_name: row.dataset.name, strength_model: value, strength_clip: value, model, clip } };
    model = [String(id), 0];
    clip = [String(id), 1];
    id += 1;
  }
  prompt[6] = { class_type: 'CLIPTextEncode', inputs: { text: $('prompt').value, clip } };
  prompt[7] = { class_type: 'CLIPTextEncode', inputs: { text: $('negative').value, clip } };
  prompt[3] = {
    class_type: 'KSampler',
    inputs: {
      seed: '@seed@', steps: number('steps'), cfg: number('cfg'), sampler_name: $('sampler').value, scheduler: 'normal', denoise: 1,
      model, positive: ['6', 0], negative: ['7', 0], latent_image: ['5', 0],
    },
  };
  prompt[8] = { class_type: 'VAEDecode', inputs: { samples: ['3', 0], vae: ['4', 2] } };
  prompt[9] = { class_type: 'SaveImage', inputs: { images: ['8', 0], filename_prefix: 'veneer' } };
  const seed = /^[0-9]+$/.test($('seed').value) ? BigInt($('seed').value).toString() : '0';
  return JSON.stringify({ prompt, client_id: clientId }).replace('"@seed@"', seed);
}

async function run(event) {
  event.preventDefault();
  say('queued');
  let answer;
  let body;
  try {
    answer = await post('/prompt', workflowText());
    body = await answer.json();
  } catch (error) {
    return say(`the server does not answer: ${error.message}`, true);
  }
  if (!answer.ok) {
    const errors = Object.values(body.node_errors || {}).flatMap((node) => node.errors.map((e) => `${node.class_type}: ${e.message} ${e.details}`));
    return say([body.error.message, ...errors].join('; '), true);
  }
  current = body.prompt_id;
}

async function refreshQueue() {
  const { queue_running: running, queue_pending: waiting } = await get('/queue');
  const list = $('queue');
  list.replaceChildren();
  for (const [items, word] of [[running, 'runs'], [waiting, 'waits']]) {
    for (const item of items) {
      const row = element('li', `${item[1].slice(0, 8)} ${word} `, list);
      const cancel = element('button', 'cancel', row);
      cancel.onclick = () => post(`/jobs/${encodeURIComponent(item[1])}/cancel`).then(refreshQueue);
    }
  }
}

async function refreshHistory() {
  const history = await get('/history?max_items=24');
  const box = $('history');
  box.replaceChildren();
  for (const [id, entry] of Object.entries(history).reverse()) {
    const images = Object.values(entry.outputs).flatMap((output) => output.images || []);
    const figure = element('figure', undefined, box);
    if (images.length) {
      const link = element('a', undefined, figure);
      link.href = viewPath(images[0]);
      const picture = element('img', undefined, link);
      picture.alt = id;
      picture.loading = 'lazy';
      picture.src = viewPath(images[0]) + '&preview=webp;80';
    }
    element('figcaption', `${id.slice(0, 8)} ${entry.status.status_str}`, figure);
  }
}

async function refreshMemory() {
  const memory = await get('/memory');
  const table = $('memory');
  table.replaceChildren();
  const mib = (bytes) => (bytes / 1048576).toFixed(1) + ' MiB';
  const row = (...cells) => {
    const made = element('tr', undefined, table);
    for (const cell of cells) element('td', cell, made);
  };
  row('process', mib(memory.process_bytes));
  row('ready-to-run weights', `${mib(memory.resident_bytes)} of ${mib(memory.budget_bytes)}`);
  const owners = new Map();
  for (const entry of memory.entries) owners.set(entry.owner, (owners.get(entry.owner) || 0) + entry.bytes);
  for (const [owner, bytes] of owners) row(owner, mib(bytes));
}

let refreshing = 0;
function refresh() {
  clearTimeout(refreshing);
  refreshing = setTimeout(() => Promise.allSettled([refreshQueue(), refreshHistory(), refreshMemory()]), 150);
}

function onText({ type, data }) {
  if (type === 'status') {
    if (data.sid) clientId = data.sid;
    $('state').textContent = `${data.status.exec_info.queue_remaining} in the queue`;
    refresh();
  } else if (type === 'progress') {
    $('bar').max = data.max;
    $('bar').value = data.value;
    say(`step ${data.value} of ${data.max}`);
  } else if (type === 'executed' && data.output && data.output.images && data.output.images.length) {
    $('preview').src = viewPath(data.output.images[0]);
  } else if (type === 'execution_error') {
    say(`${data.node_type}: ${data.exception_message}`, true);
  } else if (type === 'execution_interrupted') {
    say('stopped');
  } else if (type === 'execution_success') {
    say('done');
  }
}

function onFrame(buffer) {
  const view = new DataView(buffer);
  const kind = view.getUint32(0);
  // 4: the length of a JSON text, the text, the picture.
  if (kind !== 4) return;
  const begin = 8 + view.getUint32(4);
  const about = JSON.parse(new TextDecoder().decode(buffer.slice(8, begin)));
  show(new Blob([buffer.slice(begin)], { type: about.image_type }));
}

function connect() {
  const scheme = location.protocol === 'https:' ? 'wss://' : 'ws://';
  const socket = new WebSocket(scheme + location.host + '/ws' + (clientId ? '?clientId=' + clientId : ''));
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => socket.send(JSON.stringify({ type: 'feature_flags', data: { supports_preview_metadata: true } }));
  socket.onmessage = (event) => (typeof event.data === 'string' ? onText(JSON.parse(event.data)) : onFrame(event.data));
  socket.onclose = () => {
    $('state').textContent = 'connecting';
    setTimeout(connect, 1000);
  };
}

$('form').onsubmit = run;
// Without an id the server would stop what others have running.
$('stop').onclick = () => {
  if (!current) return say('nothing of this page runs');
  return post('/interrupt', JSON.stringify({ prompt_id: current })).catch(() => say('the server does not answer', true));
};
fillChoices().catch(() => say('the server does not answer', true));
showModels();
connect();
