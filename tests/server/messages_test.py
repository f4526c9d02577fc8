"""What web sockets hear, and when."""

import sys
import time
import unittest

from client import Server, simple_prompt, slow_prompt

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]


def outline(messages):
    """The order of messages, as short words."""
    words = []
    for m in messages:
        if isinstance(m, bytes):
            words.append(f"frame{m[3]}")
        elif m["type"] == "executing":
            words.append(f"executing {m['data']['node']}")
        elif m["type"] == "executed":
            words.append(f"executed {m['data']['node']}")
        elif m["type"] == "progress_state":
            node = list(m["data"]["nodes"].values())[-1]
            words.append(f"state {node['node_id']} {node['state']}")
        else:
            words.append(m["type"])
    return words


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def run_prompt(self, socket, prompt, client, **more):
        answer = self.server.post("/prompt", {"prompt": prompt, "client_id": client, **more})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json["prompt_id"], socket.until_done(answer.json["prompt_id"])

    def test_a_run_is_told_in_the_recorded_order(self):
        socket = self.server.socket("order")
        self.assertEqual(socket.next(), {"type": "status", "data": {"status": {"exec_info": {"queue_remaining": 0}}, "sid": "order"}})
        _, messages = self.run_prompt(socket, simple_prompt(1), "order")
        self.assertEqual(outline(messages), ["status", "status", "execution_start", "execution_cached", "state 1 running", "executing 1",
                                             "state 1 finished", "state 2 running", "executing 2", "executed 2", "state 2 finished",
                                             "execution_success", "status", "executing None"])

    def test_a_cached_run_tells_its_outputs_again(self):
        socket = self.server.socket("cached")
        socket.next()
        _, first = self.run_prompt(socket, simple_prompt(2), "cached")
        identity, second = self.run_prompt(socket, simple_prompt(2), "cached")
        self.assertEqual(outline(second), ["status", "status", "execution_start", "execution_cached", "executed 2", "state 2 finished",
                                           "execution_success", "status", "executing None"])
        picture = [m["data"]["output"] for m in first if isinstance(m, dict) and m["type"] == "executed"]
        again = [m["data"]["output"] for m in second if isinstance(m, dict) and m["type"] == "executed"]
        self.assertEqual(picture, again)
        self.assertEqual(self.server.wait(identity)["outputs"], {"2": picture[0]})

    def test_previews_come_after_their_progress_and_before_it_with_metadata(self):
        socket = self.server.socket("plain")
        socket.next()
        _, messages = self.run_prompt(socket, slow_prompt(2, 0.01, 31, "PNG"), "plain")
        words = outline(messages)
        self.assertEqual(words[words.index("progress"):][:2], ["progress", "frame1"])
        frame = next(m for m in messages if isinstance(m, bytes))
        self.assertEqual(frame[:8], bytes([0, 0, 0, 1, 0, 0, 0, 2]))
        self.assertEqual(frame[8:16], b"\x89PNG\r\n\x1a\n")
        self.assertEqual((int.from_bytes(frame[24:28], "big"), int.from_bytes(frame[28:32], "big")), (512, 384))

        socket = self.server.socket("meta")
        socket.next()
        socket.send({"type": "feature_flags", "data": {"supports_preview_metadata": True}})
        self.assertEqual(socket.next()["type"], "feature_flags")
        _, messages = self.run_prompt(socket, slow_prompt(2, 0.01, 32, "JPEG"), "meta")
        words = outline(messages)
        self.assertEqual(words[words.index("frame4"):][:2], ["frame4", "progress"])
        self.assertIn(b'"image_type": "image/jpeg"', next(m for m in messages if isinstance(m, bytes)))

    def test_only_the_first_object_is_read_for_features(self):
        socket = self.server.socket("late")
        socket.next()
        socket.send("not json")
        socket.send([1])
        socket.send_bytes(b"{}")
        socket.send({"type": "hello"})
        socket.send({"type": "feature_flags", "data": {}})
        self.assertEqual(socket.drain(), [])

    def test_a_client_without_an_id_gets_one(self):
        sid = self.server.socket().next()["data"]["sid"]
        self.assertRegex(sid, "^[0-9a-f]{32}$")

    def test_an_error_ends_the_run(self):
        socket = self.server.socket("error")
        socket.next()
        prompt = slow_prompt()
        prompt["2"] = {"class_type": "RecFail", "inputs": {"image": ["1", 0], "kind": "value", "text": "bad\u00e4", "number": 2.5, "flag": True}}
        identity, messages = self.run_prompt(socket, prompt, "error")
        error = next(m["data"] for m in messages if isinstance(m, dict) and m["type"] == "execution_error")
        self.assertEqual((error["node_id"], error["node_type"], error["exception_message"], error["exception_type"]),
                         ("2", "RecFail", "bad\u00e4\n", "ValueError"))
        self.assertEqual(error["current_inputs"]["number"], [2.5])
        self.assertEqual(outline(messages)[-3:], ["execution_error", "status", "executing None"])
        entry = self.server.wait(identity)
        self.assertEqual(entry["status"]["status_str"], "error")
        self.assertEqual([m[0] for m in entry["status"]["messages"]], ["execution_start", "execution_cached", "execution_error"])

    def test_a_prompt_of_nobody_tells_progress_to_all(self):
        sockets = [self.server.socket("all1"), self.server.socket("all2")]
        identity = self.server.post("/prompt", {"prompt": slow_prompt(2, 0.01, 41)}).json["prompt_id"]
        self.server.wait(identity)
        for socket in sockets:
            words = set(outline(socket.drain(until=lambda seen: "progress" in outline(seen))))
            self.assertIn("progress", words)
            self.assertNotIn("executing 2", words)
            self.assertNotIn("execution_start", words)

    def test_progress_of_another_client_is_not_heard(self):
        mine, other = self.server.socket("mine"), self.server.socket("other")
        mine.next()
        self.run_prompt(mine, slow_prompt(2, 0.01, 42), "mine")
        # The greeting, one more job, and one less.
        self.assertEqual(set(outline(other.drain(until=lambda seen: len(seen) >= 3))), {"status"})

    def test_a_reconnected_client_hears_what_runs_and_goes_on(self):
        first = self.server.socket("again")
        first.next()
        identity = self.server.post("/prompt", {"prompt": slow_prompt(12, 0.1, 43), "client_id": "again"}).json["prompt_id"]
        while outline([first.next()]) != ["executing 2"]:
            pass
        first.close()
        second = self.server.socket("again")
        self.assertEqual(second.next()["data"]["sid"], "again")
        self.assertEqual(second.next(), {"type": "executing", "data": {"node": "2"}})
        self.assertEqual(outline(second.until_done(identity))[-3:], ["execution_success", "status", "executing None"])

    def test_a_second_socket_of_an_id_keeps_it_when_the_first_closes(self):
        first = self.server.socket("twice")
        first.next()
        second = self.server.socket("twice")
        second.next()
        first.close()
        time.sleep(0.2)
        _, messages = self.run_prompt(second, simple_prompt(9), "twice")
        self.assertIn("execution_success", outline(messages))

    def test_text_of_a_node_is_a_frame_of_type_3(self):
        socket = self.server.socket("text")
        socket.next()
        prompt = slow_prompt()
        prompt["2"] = {"class_type": "RecText", "inputs": {"image": ["1", 0], "text": "h\u00e9llo"}}
        _, messages = self.run_prompt(socket, prompt, "text")
        frame = next(m for m in messages if isinstance(m, bytes))
        self.assertEqual(frame, bytes([0, 0, 0, 3, 0, 0, 0, 1]) + b"2" + "h\u00e9llo".encode())

    def test_logs_go_to_those_who_asked(self):
        socket = self.server.socket("logs")
        socket.next()
        self.assertEqual(self.server.request("PATCH", "/internal/logs/subscribe", {"clientId": "logs", "enabled": True}).status, 200)
        self.server.post("/interrupt", {})
        message = socket.next()
        self.assertEqual(message["type"], "logs")
        self.assertIn("interrupt", message["data"]["entries"][0]["m"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
