"""Runs that were recorded on ComfyUI's web socket, run here: the same messages in the same order."""

import json
import os
import sys
import unittest

from client import Server

PROGRAM, SOURCE, SHARED = sys.argv[1], sys.argv[2], sys.argv[3]
RECORDINGS = os.path.join(SHARED, "api", "recordings")

# Runs with nothing in between (an interrupt, a reconnection), whose nodes become ready one after the other.
NAMES = ("ws_normal_run", "ws_cached_run", "ws_partly_cached_run", "ws_cached_renamed_ids", "ws_run_after_error", "ws_progress", "ws_error_run",
         "ws_error_value", "ws_preview_legacy_png", "ws_preview_legacy_jpeg", "ws_preview_metadata_png", "ws_preview_metadata_jpeg", "ws_text_event",
         "ws_equal_output_nodes", "ws_run_after_idle_interrupt", "ws_one_output_invalid", "ws_ui_output", "ws_output_node_with_socket_partial",
         "ws_error_constant_for_image", "ws_error_oom")
# Those in which nodes are ready at the same time.
CONCURRENT = ("ws_blocker_silent", "ws_blocker_verbose", "ws_blocker_list", "ws_lazy_input", "ws_lazy_both", "ws_list_mapping", "ws_mixed_expansion",
              "ws_expansion_error", "ws_undeclared_inputs", "ws_is_changed_nan", "ws_is_changed_nan_again", "ws_for_loop", "ws_for_loop_cached")
# Asynchronous nodes tell progress as often as they come to it.
ASYNC = ("ws_async_two", "ws_async_error_parallel", "ws_expansion")
# The words of Python's exceptions are not Veneer's: docs/api.md.
OTHER_WORDS = ("ws_error_constant_for_image", "ws_error_oom")
TARGETS = {"ws_output_node_with_socket_partial": ["3"]}
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


def without_words(outlines):
    return [" ".join(line.split(" ")[:2]) if line.startswith("execution_error") else line for line in outlines]


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


def of_equal_nodes(outlines):
    """Besides, equal nodes may change places: how often each kind of message came, and what each node told, whichever it was."""
    kinds, nodes = without_order_of_equals(outlines)
    return sorted(kinds), sorted([" ".join(w for w in line.split(" ") if w != node) for line in lines] for node, lines in nodes.items())


def without_progress(outlines):
    return [line for line in outlines if line.split(" ")[0] not in ("progress", "progress_state")]


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
        targets = {"partial_execution_targets": TARGETS[name]} if name in TARGETS else {}
        answer = server.post("/prompt", {"prompt": prompt, "client_id": client, "prompt_id": name, **targets})
        self.assertEqual(answer.status, 200, answer.body)
        got += socket.until_done(name)
        socket.close()
        want = [recorded_outline(e) for e in transcript]
        self.assertEqual(view([outline(m) for m in got]), view(want), name)
        if "history" not in recording:
            return
        entry, wanted = server.wait(name), recording["history"][name]
        if name == "ws_expansion_error":
            wanted["status"]["status_str"] = "error"  # on purpose: docs/api.md
        self.assertEqual(entry["status"]["status_str"], wanted["status"]["status_str"])
        self.assertEqual([m[0] for m in entry["status"]["messages"]], [m[0] for m in wanted["status"]["messages"]])
        self.assertEqual(set(entry["outputs"]), set(wanted["outputs"]))
        self.assertEqual(set(entry["meta"]), set(wanted["meta"]))
        self.assertEqual(set(entry), set(wanted))

    def test_runs(self):
        for name in NAMES:
            with self.subTest(name), Server(PROGRAM) as server:
                self.replay(server, name, view=without_words if name in OTHER_WORDS else lambda outlines: outlines)

    def test_concurrent_runs(self):
        for name in CONCURRENT:
            with self.subTest(name), Server(PROGRAM) as server:
                self.replay(server, name, view=of_equal_nodes)

    def test_asynchronous_runs(self):
        for name in ASYNC:
            with self.subTest(name), Server(PROGRAM) as server:
                self.replay(server, name, view=lambda outlines: of_equal_nodes(without_progress(outlines)))

    def recorded(self, name):
        with open(os.path.join(RECORDINGS, name + ".json")) as file:
            return json.load(file)

    @staticmethod
    def hurried(prompt):
        """With shorter steps."""
        for node in prompt.values():
            if "delay" in node["inputs"]:
                node["inputs"]["delay"] = 0.05
        return prompt

    def messages_until(self, socket, kind, count=1):
        got = []
        while count > 0:
            got.append(socket.next())
            count -= isinstance(got[-1], dict) and got[-1]["type"] == kind
        return got

    def test_interrupts(self):
        for name in ("ws_interrupt_global", "ws_interrupt_by_id", "ws_interrupt_wrong_id"):
            recording = self.recorded(name)
            transcript = recording["transcript"]
            with self.subTest(name), Server(PROGRAM) as server:
                if any("1" in e["text"]["data"]["nodes"] for e in transcript if e.get("text", {}).get("type") == "execution_cached"):
                    self.prime(server, recording["prompt"], ["1"])
                socket = server.socket("rec-client")
                server.post("/prompt", {"prompt": self.hurried(recording["prompt"]), "client_id": "rec-client", "prompt_id": name})
                got = self.messages_until(socket, "progress", 2)
                body = next(e["request_json"] for e in transcript if "request_json" in e)
                self.assertEqual(server.post("/interrupt", body).status, 200)
                got += socket.until_done(name)
                socket.close()
                want = [recorded_outline(e) for e in transcript if e.get("from") == "server"]
                self.assertEqual(without_progress([outline(m) for m in got]), without_progress(want))

    def test_an_interrupt_with_the_id_of_a_waiting_prompt_does_nothing(self):
        transcript = self.recorded("ws_interrupt_pending_id")["transcript"]

        def prompt(steps, salt):
            return {"1": {"class_type": "EmptyImage", "inputs": {"width": 16, "height": 12, "batch_size": 1, "color": 0}},
                    "2": {"class_type": "RecProgress", "inputs": {"image": ["1", 0], "steps": steps, "delay": 0.03, "preview": "none", "salt": salt}},
                    "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}}
        with Server(PROGRAM) as server:
            self.prime(server, prompt(1, 1), ["1"])
            socket = server.socket("rec-client")
            server.post("/prompt", {"prompt": prompt(15, 2), "client_id": "rec-client", "prompt_id": "running-one"})
            got = self.messages_until(socket, "executing")
            server.post("/prompt", {"prompt": prompt(2, 3), "client_id": "rec-client", "prompt_id": "pending-one"})
            server.post("/interrupt", {"prompt_id": "pending-one"})
            got += socket.until_done("pending-one")
            socket.close()
        want = [recorded_outline(e) for e in transcript if e.get("from") == "server"]
        self.assertEqual(without_progress([outline(m) for m in got]), without_progress(want))

    def test_a_reconnection(self):
        recording = self.recorded("ws_reconnect")
        parts, part = [], []
        for entry in recording["transcript"]:
            if entry.get("event") == "closed":
                parts.append(part)
                part = []
            elif entry.get("from") == "server":
                part.append(recorded_outline(entry))
        with Server(PROGRAM) as server:
            self.prime(server, recording["prompt"], ["1"])
            socket = server.socket("rec-client")
            server.post("/prompt", {"prompt": self.hurried(recording["prompt"]), "client_id": "rec-client", "prompt_id": "ws_reconnect"})
            first = self.messages_until(socket, "progress", 2)
            socket.close()
            socket = server.socket("rec-client")
            second = socket.until_done("ws_reconnect")
            socket.close()
        self.assertEqual([outline(m) for m in first], parts[0])
        self.assertEqual(without_progress([outline(m) for m in second]), without_progress(parts[1]))
        self.assertTrue([m for m in second if m["type"] == "progress"])

    def test_sockets_that_post_nothing(self):
        with Server(PROGRAM) as server:
            for name in ("ws_api_prefix", "ws_empty_client_id", "ws_no_client_id", "ws_feature_flags", "ws_feature_flags_after_bad_json",
                         "ws_feature_flags_not_first", "ws_first_message_is_list"):
                with self.subTest(name):
                    transcript = self.recorded(name)["transcript"]
                    socket = server.socket(path=next(e["path"] for e in transcript if e.get("event") == "open"))
                    for entry in transcript:
                        if entry.get("from") == "client":
                            socket.send(entry["text"])
                    want = [recorded_outline(e) for e in transcript if e.get("from") == "server"]
                    if name == "ws_feature_flags":
                        # That recording ended before the answer.
                        want += [] if any(w == "feature_flags" for w in want) else ["feature_flags"]
                    self.assertEqual(sorted(outline(m) for m in socket.drain(0.15, until=lambda seen: len(seen) >= len(want))), sorted(want))
                    socket.close()

    def test_what_others_hear(self):
        prompt = {"1": {"class_type": "EmptyImage", "inputs": {"width": 16, "height": 12, "batch_size": 1, "color": 0}},
                  "2": {"class_type": "RecProgress", "inputs": {"image": ["1", 0], "steps": 2, "delay": 0.01, "preview": "JPEG", "salt": 1}},
                  "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}}
        for name, owner in (("ws_other_client", "client-c"), ("ws_prompt_of_absent_client", "nobody"), ("ws_prompt_without_client_id", None)):
            with self.subTest(name), Server(PROGRAM) as server:
                transcript = self.recorded(name)["transcript"]
                self.prime(server, prompt, ["1"])
                flags = next((e["text"] for e in transcript if e.get("from") == "client"), None)
                posting = server.socket(owner) if name == "ws_other_client" else None
                sockets = [server.socket("client-b" if name == "ws_other_client" else "client-a")]
                if flags:
                    sockets[0].send(flags)
                    sockets[0].messages = [sockets[0].next(), sockets[0].next()]
                    sockets.append(server.socket("client-b"))
                identity = server.post("/prompt", {"prompt": prompt, **({"client_id": owner} if owner else {})}).json["prompt_id"]
                server.wait(identity)
                parts, part = [], []
                for entry in transcript:
                    if entry.get("event") == "closed":
                        parts.append(part)
                        part = []
                    elif entry.get("from") == "server":
                        part.append(recorded_outline(entry))
                for socket, want in zip(sockets, parts):
                    got = getattr(socket, "messages", [])
                    got = got + socket.drain(0.3, until=lambda seen: len(got) + len(seen) >= len(want))
                    kinds = [[line.split(" ")[0] for line in lines] for lines in ([outline(m) for m in got], want)]
                    if flags and socket is sockets[0]:
                        kinds = [sorted(k) for k in kinds]  # previews in the form that the socket announced, on purpose: docs/api.md
                    self.assertEqual(kinds[0], kinds[1])
                    socket.close()
                if posting:
                    posting.close()

    @staticmethod
    def server_parts(transcript):
        """The outlines of what the server sent, cut where the recording says that something else was done."""
        parts = [[]]
        for entry in transcript:
            if entry.get("from") == "server":
                parts[-1].append(recorded_outline(entry))
            elif "event" in entry and entry["event"] not in ("open", "closed"):
                parts.append([])
        return parts

    def test_log_lines_reach_those_who_asked_for_them(self):
        recording = self.recorded("ws_logs")
        prompt = {"1": {"class_type": "EmptyImage", "inputs": {"width": 16, "height": 12, "batch_size": 1, "color": 0}},
                  "2": {"class_type": "RecProgress", "inputs": {"image": ["1", 0], "steps": 2, "delay": 0.01, "preview": "none", "salt": 1}},
                  "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}}
        with Server(PROGRAM) as server:
            self.prime(server, prompt, ["1"])
            socket = server.socket("logs-client")
            other = server.socket("other-client")
            got = [socket.next()]
            self.assertEqual(server.request("PATCH", "/internal/logs/subscribe", {"enabled": True, "clientId": "logs-client"}).status, 200)
            server.post("/prompt", {"prompt": prompt, "client_id": "logs-client", "prompt_id": "with-logs"})
            got += socket.until_done("with-logs")
            while outline(got[-1]) != "logs":
                got.append(socket.next())
            heard = [m for m in other.drain(0.2) if isinstance(m, dict)]
            server.request("PATCH", "/internal/logs/subscribe", {"enabled": False, "clientId": "logs-client"})
            server.wait(server.post("/prompt", {"prompt": prompt}).json["prompt_id"])
            after = [m for m in socket.drain(0.2) if isinstance(m, dict)]
            socket.close()
            other.close()
        self.assertEqual([outline(m) for m in got], self.server_parts(recording["transcript"])[0])
        words = [line["text"]["data"]["entries"][0]["m"].split(" ")[0] for line in recording["transcript"] if line.get("text", {}).get("type") == "logs"]
        logs = [m["data"] for m in got if m["type"] == "logs"]
        self.assertEqual([entry["m"].split(" ")[0] for data in logs for entry in data["entries"]], words)
        self.assertEqual([(sorted(data), sorted(data["entries"][0])) for data in logs], [(["entries", "size"], ["m", "t"])] * 2)
        self.assertEqual([m for m in heard + after if m["type"] == "logs"], [])

    def test_changes_of_the_queue_are_told_to_everybody(self):
        parts = self.server_parts(self.recorded("ws_queue_changes")["transcript"])

        def prompt(salt, steps=1):
            return {"1": {"class_type": "EmptyImage", "inputs": {"width": 16, "height": 12, "batch_size": 1, "color": 0}},
                    "2": {"class_type": "RecProgress", "inputs": {"image": ["1", 0], "steps": steps, "delay": 0.05, "preview": "none", "salt": salt}},
                    "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}}
        with Server(PROGRAM) as server:
            starter = server.socket("runner")
            server.post("/prompt", {"prompt": prompt(1, 2000), "client_id": "runner", "prompt_id": "long"})
            self.messages_until(starter, "executing")
            for salt in (2, 3, 4):
                server.post("/prompt", {"prompt": prompt(salt), "client_id": "runner"})
            socket = server.socket("watcher")
            got = [[socket.next()]]
            server.post("/queue", {"clear": True})
            got[0] += socket.drain(0.2, until=lambda seen: len(seen) + 1 >= len(parts[0]))
            waiting = server.post("/prompt", {"prompt": prompt(5), "client_id": "runner"}).json["prompt_id"]
            got.append(socket.drain(0.2, until=lambda seen: len(seen) >= len(parts[1])))
            server.post("/queue", {"delete": [waiting]})
            got.append(socket.drain(0.2, until=lambda seen: len(seen) >= 1))
            server.post("/interrupt", {"prompt_id": "long"})
            socket.close()
            starter.close()
        parts[2] = parts[2][:1]  # the last waiting job's removal is told once, on purpose: docs/api.md
        self.assertEqual([[outline(m) for m in part] for part in got], parts)

    def test_of_a_prompt_without_a_client_all_hear_of_its_interrupt_and_nobody_of_its_error(self):
        recording = self.recorded("ws_prompt_without_client_id_interrupt_and_error")
        first, second = (recording["history"][name]["prompt"][2] for name in ("of-nobody-2", "of-nobody-3"))
        with Server(PROGRAM) as server:
            self.prime(server, first, ["1"])
            socket = server.socket("client-a")
            server.post("/prompt", {"prompt": first, "prompt_id": "of-nobody-2"})
            got = self.messages_until(socket, "progress", 2)
            self.assertEqual(server.post("/interrupt").status, 200)
            history = [server.wait("of-nobody-2")]
            got += self.messages_until(socket, "status")
            server.post("/prompt", {"prompt": second, "prompt_id": "of-nobody-3"})
            history.append(server.wait("of-nobody-3"))
            got += socket.drain(0.3, until=lambda seen: [outline(m).split(" ")[0] for m in seen].count("status") >= 2)
            socket.close()
        want = self.server_parts(recording["transcript"])[0]
        self.assertEqual(without_progress([outline(m) for m in got]), without_progress(want))
        for entry, name in zip(history, ("of-nobody-2", "of-nobody-3")):
            wanted = recording["history"][name]["status"]
            self.assertEqual((entry["status"]["status_str"], [m[0] for m in entry["status"]["messages"]]),
                             (wanted["status_str"], [m[0] for m in wanted["messages"]]))

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
