"""Graphs of testing nodes, and a client that runs them as ComfyUI's own test client does."""

import json
import struct
import unittest
import uuid
import zlib

from client import Server

# One server for each way to keep results.
MODES = {"classic": (), "lru100": ("cache=lru100",), "lru0": ("cache=lru0",), "none": ("cache=none",)}


class Node:
    def __init__(self, identity, class_type, inputs):
        self.id, self.class_type, self.inputs, self.members = identity, class_type, inputs, {}

    def out(self, slot):
        return [self.id, slot]


class Graph:
    """Nodes whose ids share a prefix, as in ComfyUI's tests."""

    def __init__(self, prefix):
        self.prefix, self.nodes = prefix, {}

    def node(self, class_type, identity=None, **inputs):
        identity = f"{self.prefix}.{identity or len(self.nodes) + 1}"
        self.nodes[identity] = Node(identity, class_type, inputs)
        return self.nodes[identity]

    def image(self, content, size=16, **more):
        return self.node("StubImage", content=content, height=size, width=size, batch_size=1, **more)

    def mask(self, value, size=16):
        return self.node("StubMask", value=value, height=size, width=size, batch_size=1)

    def preview(self, link):
        return self.node("PreviewImage", images=link)

    def save(self, link, prefix="t"):
        return self.node("SaveImage", images=link, filename_prefix=prefix)

    def show(self, link):
        return self.node("PreviewAny", source=link)

    def prompt(self):
        return {n.id: {"class_type": n.class_type, "inputs": n.inputs, **n.members} for n in self.nodes.values()}


class Refused(Exception):
    """The prompt was answered with 400; the argument is the answer's JSON."""


def levels(data):
    """The values of an 8 bit PNG without palette, as bytes."""
    at, packed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        header = struct.unpack(">IIBB", body[:10]) if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour = header
    assert depth == 8, depth
    step = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    rows, raw, above = [], zlib.decompress(packed), bytes(width * step)
    for y in range(height):
        line = raw[y * (width * step + 1):(y + 1) * (width * step + 1)]
        row = bytearray(line[1:])
        if line[0] in (2, 4) and row.count(0) == len(row) and above.count(above[0]) == len(above):
            rows.append(bytes(above))  # of one level, as the one above
            continue
        if line[0] == 1 and row[step:].count(0) == len(row) - step:
            rows.append(bytes(row[:step]) * width)
            above = rows[-1]
            continue
        for x in range(len(row)):
            left, up, corner = row[x - step] if x >= step else 0, above[x], above[x - step] if x >= step else 0
            guess = left + up - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            row[x] = (row[x] + (0, left, up, (left + up) // 2, nearest)[line[0]]) & 255
        rows.append(bytes(row))
        above = row
    return b"".join(rows)


class Result:
    def __init__(self, server, messages, entry, prompt_id):
        self.server, self.messages, self.entry, self.prompt_id = server, messages, entry, prompt_id
        texts = [m for m in messages if isinstance(m, dict)]
        self.texts = texts
        self.executing = [m["data"]["node"] for m in texts if m["type"] == "executing" and m["data"]["node"] is not None]
        self.cached = next((m["data"]["nodes"] for m in texts if m["type"] == "execution_cached"), [])
        self.errors = [m["data"] for m in texts if m["type"] == "execution_error"]
        self.outputs = entry["outputs"]

    def did_run(self, node):
        return (node if isinstance(node, str) else node.id) in self.executing

    def times(self, node):
        return self.executing.count(node if isinstance(node, str) else node.id)

    def all(self, kind):
        return [m["data"] for m in self.texts if m["type"] == kind]

    def states(self):
        """progress_state messages: node id -> what is said of it."""
        return [m["nodes"] for m in self.all("progress_state")]

    def output(self, node):
        return self.outputs.get(node if isinstance(node, str) else node.id)

    def images(self, node):
        """The pictures of an output node, each as (smallest, largest) value."""
        found = []
        for image in (self.output(node) or {}).get("images", []):
            answer = self.server.get(f"/view?filename={image['filename']}&subfolder={image['subfolder']}&type={image['type']}")
            assert answer.status == 200, answer.body
            values = levels(answer.body)
            found.append((min(values), max(values)))
        return found

    @property
    def succeeded(self):
        return self.entry["status"]["status_str"] == "success"


class Client:
    def __init__(self, server):
        self.server, self.id = server, str(uuid.uuid4())
        self.socket = server.socket(self.id)

    def post(self, prompt, **more):
        answer = self.server.post("/prompt", {"prompt": prompt, "client_id": self.id, **more})
        if answer.status != 200:
            assert answer.status == 400, answer.body
            raise Refused(answer.json)
        return answer.json["prompt_id"]

    def run(self, graph, targets=None):
        """Runs to the end, which is `executing` with null; history is complete then."""
        more = {} if targets is None else {"partial_execution_targets": [t if isinstance(t, str) else t.id for t in targets]}
        prompt_id = self.post(graph.prompt() if isinstance(graph, Graph) else graph, **more)
        messages = [m for m in self.socket.until_done(prompt_id) if not isinstance(m, dict) or m["data"].get("prompt_id", prompt_id) == prompt_id]
        return Result(self.server, messages, self.server.get(f"/history/{prompt_id}").json[prompt_id], prompt_id)

    def close(self):
        self.socket.close()


class Behaviours(unittest.TestCase):
    """Base of the tests: a server of the class's mode, and a client and a graph for each test."""

    program, mode = None, None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.program, *MODES[cls.mode]).start()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        cls.server.__exit__()
        assert code == 0, f"the server ended with {code}"

    def setUp(self):
        self.client = Client(self.server)
        self.addCleanup(self.client.close)
        self.g = Graph(f"{self.id().split('.')[-1]}[{self.mode}]")
        # Whether results of one prompt are there in the next one.
        self.keeps = self.mode != "none"

    def run_graph(self, graph=None, targets=None):
        result = self.client.run(graph or self.g, targets)
        self.assertTrue(result.succeeded, result.errors)
        return result

    def fail_graph(self, graph=None):
        result = self.client.run(graph or self.g)
        self.assertFalse(result.succeeded)
        self.assertEqual(len(result.errors), 1, result.errors)
        for member in ("prompt_id", "node_id", "node_type", "exception_message", "exception_type", "current_inputs", "executed"):
            self.assertIn(member, result.errors[0])
        return result

    def refused(self, graph=None, **more):
        with self.assertRaises(Refused) as caught:
            self.client.post((graph or self.g).prompt(), **more)
        return caught.exception.args[0]


def in_modes(program, tests, modes=MODES):
    """A class for each mode with the tests of `tests`, for unittest.main."""
    return {f"{tests.__name__}_{mode}": type(f"{tests.__name__}_{mode}", (tests, Behaviours), {"program": program, "mode": mode}) for mode in modes}


def text_of(result, node):
    return (result.output(node) or {}).get("text")


def dumps(value):
    return json.dumps(value)
