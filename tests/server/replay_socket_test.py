"""Runs that were recorded on ComfyUI's web socket, run here: the same messages in the same order."""

import json
import os
import sys
import unittest

from client import Server

PROGRAM, SOURCE, SHARED = sys.argv[1], sys.argv[2], sys.argv[3]
RECORDINGS = os.path.join(SHARED, "api", "recordings")

# Runs with the nodes that the testing server has, and with nothing in between (an interrupt, a reconnection).
NAMES = ("ws_normal_run", "ws_cached_run", "ws_partly_cached_run", "ws_cached_renamed_ids", "ws_run_after_error", "ws_progress", "ws_error_run",
         "ws_error_value", "ws_preview_legacy_png", "ws_preview_legacy_jpeg", "ws_preview_metadata_png", "ws_preview_metadata_jpeg", "ws_text_event",
         "ws_equal_output_nodes", "ws_run_after_idle_interrupt", "ws_one_output_invalid")
# The demo model stands for the checkpoint with random weights.
SAMPLING = ("ws_sampling_run", "ws_sampling_seed_changed", "ws_sampling_cached")


def outline(message):
    """What of a message is the same in every run; a string per message."""
    if isinstance(message, bytes):
        kind = int.from_bytes(message[:4], "big")
        if kind == 1:
            return f"frame 1 image {int.from_bytes(message[4:8], 'big')}"
        return f"frame {kind}"
    kind, data = message["type"], message["data"]
    if kind == "status":
        return f"status {data['status']['exec_info']['queue_remaining']}" + (" sid" if "sid" in data else "")
    if kind == "progress_state":
        nodes = [f"{n['node_id']}:{n['state']}:{n['value']}/{n['max']}" for n in data["nodes"].values()]
        return "progress_state " + " ".join(nodes)
    if kind == "executing":
        return f"executing {data['node']} {data.get('display_node')}"
    if kind == "executed":
        return f"executed {data['node']} {sorted(data['output']) if data['output'] else data['output']}"
    if kind == "progress":
        return f"progress {data['node']} {data['value']}/{data['max']}"
    if kind == "execution_cached":
        return f"execution_cached {sorted(data['nodes'])}"
    if kind == "execution_error":
        return f"execution_error {data['node_id']} {data['exception_type']} {data['exception_message']!r} {sorted(data['current_outputs'])}"
    return kind


def recorded_outline(entry):
    if "text" in entry:
        return outline(entry["text"])
    frame = entry["binary"]
    kind = frame["event_type_u32be"]
    return f"frame 1 image {frame['image_type_u32be']}" if kind == 1 else f"frame {kind}"


def without_order_of_equals(outlines):
    """Nodes that are ready at the same time run in any order: the kinds of messages in their order, and the messages of each node in theirs."""
    kinds = [line.split(" ")[0] for line in outlines]
    nodes = {}
    for line in outlines:
        words = line.split(" ")
        if words[0] in ("executing", "executed", "progress"):
            nodes.setdefault(words[1], []).append(line)
    return kinds, nodes


class Replay(unittest.TestCase):
    def setUp(self):
        if not os.path.isdir(RECORDINGS):
            self.skipTest(f"no recordings in {RECORDINGS}")

    def prime(self, server, prompt, cached):
        """Puts the results into the cache that were in it when the run was recorded."""
        nodes = {i: prompt[i] for i in prompt if i in cached}
        if not nodes:
            return
        sources = {v[0] for n in nodes.values() for v in n["inputs"].values() if isinstance(v, list)}
        for number, source in enumerate(i for i in list(nodes) if i not in sources and nodes[i]["class_type"] not in ("SaveImage", "PreviewImage")):
            nodes[f"prime{number}"] = {"class_type": "PreviewImage", "inputs": {"images": [source, 0]}}
        identity = server.post("/prompt", {"prompt": nodes}).json["prompt_id"]
        server.wait(identity)

    def replay(self, server, name, change=lambda prompt: prompt, prime=True, view=lambda outlines: outlines):
        with open(os.path.join(RECORDINGS, name + ".json")) as file:
            recording = json.load(file)
        transcript = [e for e in recording["transcript"] if e.get("from") == "server"]
        prompt = change(recording["prompt"])
        cached = next(e["text"]["data"]["nodes"] for e in transcript if e.get("text", {}).get("type") == "execution_cached")
        if prime:
            self.prime(server, prompt, cached)
        client = recording["client_id"] + name
        socket = server.socket(client)
        flags = next((e["text"] for e in recording["transcript"] if e.get("from") == "client"), None)
        got = [socket.next()]
        if flags:
            socket.send(flags)
            got.append(socket.next())
        answer = server.post("/prompt", {"prompt": prompt, "client_id": client, "prompt_id": name})
        self.assertEqual(answer.status, 200, answer.body)
        got += socket.until_done(name)
        socket.close()
        want = [recorded_outline(e) for e in transcript]
        self.assertEqual(view([outline(m) for m in got]), view(want), name)
        entry, wanted = server.wait(name), recording["history"][name]
        self.assertEqual(entry["status"]["status_str"], wanted["status"]["status_str"])
        self.assertEqual([m[0] for m in entry["status"]["messages"]], [m[0] for m in wanted["status"]["messages"]])
        self.assertEqual(set(entry["outputs"]), set(wanted["outputs"]))
        self.assertEqual(set(entry["meta"]), set(wanted["meta"]))
        self.assertEqual(set(entry), set(wanted))

    def test_runs(self):
        for name in NAMES:
            with self.subTest(name), Server(PROGRAM) as server:
                self.replay(server, name)

    def test_sampling(self):
        demo = os.path.join(SOURCE, "models", "demo")
        checkpoints = [n for n in sorted(os.listdir(os.path.join(demo, "checkpoints"))) if n.endswith(".safetensors")]
        if not checkpoints:
            self.skipTest("the demo model is not here")

        def change(prompt):
            for node in prompt.values():
                if "ckpt_name" in node["inputs"]:
                    node["inputs"]["ckpt_name"] = checkpoints[0]
            return prompt
        with Server(PROGRAM, "models=" + demo) as server:
            for name in SAMPLING:
                with self.subTest(name):
                    self.replay(server, name, change, prime=False, view=without_order_of_equals)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2, exit=False).result
    if not os.path.isdir(RECORDINGS) and result.wasSuccessful():
        print(f"skipped: no recordings in {RECORDINGS}")
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
