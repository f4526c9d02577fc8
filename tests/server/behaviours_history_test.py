"""Progress isolation (K) and the history window (L) of ComfyUI's execution tests, over the real server."""

import sys
import unittest

from graphs import Client, Graph, in_modes

PROGRAM = sys.argv[1]


class Isolation:
    def test_k2_progress_goes_to_the_client_that_posted(self):
        clients = [self.client, Client(self.server)]
        self.addCleanup(clients[1].close)
        prompts = []
        for i, client in enumerate(clients):
            g = Graph(f"k2 client {i}")
            g.preview(g.node("TestSleep", value=g.image("BLACK", size=30 + i).out(0), seconds=0.02).out(0))
            prompts.append(client.post(g.prompt()))
        seen = [client.socket.until_done(prompt) for client, prompt in zip(clients, prompts)]
        seen = [got + client.socket.drain(0.1) for got, client in zip(seen, clients)]
        for got, own in zip(seen, prompts):
            of = {m["data"]["prompt_id"] for m in got if isinstance(m, dict) and "prompt_id" in m["data"]}
            self.assertEqual(of, {own})
            self.assertTrue([m for m in got if isinstance(m, dict) and m["type"] == "progress_state"])

    def test_k2_a_client_that_chose_no_id_gets_its_own_progress(self):
        socket = self.server.socket()
        self.addCleanup(socket.close)
        identity = socket.next()["data"]["sid"]
        self.assertTrue(identity)
        g = Graph("k2 chosen by the server")
        g.preview(g.image("WHITE", size=40).out(0))
        answer = self.server.post("/prompt", {"prompt": g.prompt(), "client_id": identity})
        got = socket.until_done(answer.json["prompt_id"])
        self.assertTrue([m for m in got if m["type"] == "progress_state" and m["data"]["prompt_id"] == answer.json["prompt_id"]])


class History:
    def window(self, **query):
        answer = self.server.get("/history?" + "&".join(f"{k}={v}" for k, v in query.items()))
        self.assertEqual(answer.status, 200)
        return list(answer.json)

    def fill(self, count):
        for i in range(count):
            g = Graph(f"l {i}")
            g.show(g.node("StubInt", value=i).out(0))
            self.run_graph(g)

    def test_l_windows(self):
        self.fill(6)
        everything = self.window()
        self.assertGreaterEqual(len(everything), 6)
        self.assertEqual(self.window(offset=0), everything)
        self.assertEqual(self.window(offset=2), everything[2:])
        self.assertEqual(self.window(offset=len(everything)), [])
        self.assertEqual(self.window(offset=10000), [])
        self.assertTrue(set(self.window(max_items=2, offset=0)).isdisjoint(self.window(max_items=2, offset=2)))
        self.assertEqual(self.window(max_items=2, offset=1), everything[1:3])
        self.assertEqual(self.window(max_items=5, offset=len(everything) - 1), everything[-1:])
        self.assertEqual(self.window(max_items=10000), everything)
        self.assertEqual(self.window(max_items=2), everything[-2:])


if __name__ == "__main__":
    class Clients(Isolation, History):
        pass
    globals().update(in_modes(PROGRAM, Clients, ("classic",)))
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
