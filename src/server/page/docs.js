"use strict";
// Shows openapi.json, grouped by the first part of the path; a GET without parameters in its path can be tried.

const element = (tag, text, children = []) => {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
};

const parameters = (operation) => (operation.parameters || []).map((p) => `${p.name} (${p.in}, ${p.schema.type}${p.required ? "" : ", may be missing"})`);

function bodyOf(operation) {
  if (!operation.requestBody) return "";
  const [type, content] = Object.entries(operation.requestBody.content)[0];
  const members = Object.entries(content.schema.properties || {}).map(([name, schema]) => `${name}: ${schema.type}`);
  return `body: ${type}${members.length ? " { " + members.join(", ") + " }" : ""}`;
}

async function send(path, out) {
  out.textContent = "...";
  try {
    const answer = await fetch(path);
    const text = await answer.text();
    out.textContent = `${answer.status}\n${text.slice(0, 20000)}`;
  } catch (error) {
    out.textContent = String(error);
  }
}

function describe(method, path, operation) {
  const parts = [element("summary", `${method.toUpperCase()} ${path}`)];
  if (operation.summary) parts.push(element("p", operation.summary));
  for (const line of parameters(operation)) parts.push(element("p", line));
  if (operation.requestBody) parts.push(element("p", bodyOf(operation)));
  if (method === "get" && !path.includes("{") && path !== "/ws") {
    const button = element("button", "Try");
    const out = element("pre");
    button.type = "button";
    button.addEventListener("click", () => send(path, out));
    parts.push(button, out);
  }
  const made = element("details", "", parts);
  made.dataset.text = `${method} ${path} ${operation.summary || ""}`.toLowerCase();
  return made;
}

async function main() {
  const description = await (await fetch("/openapi.json")).json();
  document.getElementById("state").textContent = `API ${description.info.version}`;
  const groups = new Map();
  for (const [path, operations] of Object.entries(description.paths)) {
    const name = path.split("/")[1];
    if (!groups.has(name)) groups.set(name, []);
    for (const [method, operation] of Object.entries(operations)) groups.get(name).push(describe(method, path, operation));
  }
  const routes = document.getElementById("routes");
  for (const [name, list] of [...groups].sort(([a], [b]) => a.localeCompare(b))) routes.append(element("section", "", [element("h2", name), ...list]));
  document.getElementById("find").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const group of routes.children) {
      let any = false;
      for (const item of group.querySelectorAll("details")) {
        item.hidden = !item.dataset.text.includes(wanted);
        any = any || !item.hidden;
      }
      group.hidden = !any;
    }
  });
}

main().catch((error) => (document.getElementById("state").textContent = String(error)));
