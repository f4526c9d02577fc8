"""Asynchronous nodes (I) of ComfyUI's execution tests, over the real server. That nodes run side by side is seen from what they wait for, not from a clock."""

import os
import sys
import unittest

from graphs import in_modes

PROGRAM = sys.argv[1]


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Sleeping:
    """Once, and not for each mode: these take their time."""

    def started_before_any_ended(self, result, nodes):
        for state in result.states():
            known = [state[n]["state"] for n in nodes if n in state]
            if "finished" in known:
                return len(known) == len(nodes)
        return False

    def test_i1_sleeping_nodes_of_a_graph_overlap(self):
        image = self.g.image("BLACK")
        sleeps = [self.g.node("TestSleep", value=image.out(0), seconds=0.4 + i / 100) for i in range(3)]
        for node in sleeps:
            self.g.preview(node.out(0))
        self.assertTrue(self.started_before_any_ended(self.run_graph(), [s.id for s in sleeps]))

    def test_i1_sleeping_nodes_of_an_expansion_overlap(self):
        images = [self.g.image(c).out(0) for c in ("BLACK", "WHITE", "WHITE")]
        parallel = self.g.node("TestParallelSleep", **{f"image{i + 1}": image for i, image in enumerate(images)}, **{f"sleep{i}": 0.4 for i in (1, 2, 3)})
        self.g.save(parallel.out(0))
        self.assertTrue(self.started_before_any_ended(self.run_graph(), [f"{parallel.id}.0.0.{i}" for i in (1, 2, 3)]))

    def test_i1_five_generated_nodes_overlap(self):
        images = [self.g.image(c).out(0) for c in ("BLACK", "WHITE")]
        made = self.g.node("TestDynamicAsyncGeneration", image1=images[0], image2=images[1], num_async_nodes=5, sleep_duration=0.4)
        save = self.g.save(made.out(0))
        result = self.run_graph()
        self.assertTrue(self.started_before_any_ended(result, [f"{made.id}.0.0.{i}" for i in range(1, 6)]))
        self.assertEqual(result.images(save), [(102, 102)])

    def test_i4_waiting_for_asynchronous_nodes_takes_no_processor_time(self):
        sleep = self.g.node("TestSleep", value=self.g.image("BLACK").out(0), seconds=1.0)
        self.g.preview(sleep.out(0))
        before = processor_seconds(self.server.process.pid)
        self.run_graph()
        self.assertLess(processor_seconds(self.server.process.pid) - before, 0.5)


class Async:
    def test_i1_ready_asynchronous_nodes_run_side_by_side(self):
        image = self.g.image("BLACK")
        # Each of them ends only when all three are inside.
        meetings = [self.g.node("TestMeeting", value=image.out(0), parties=3, salt=i) for i in range(3)]
        for node in meetings:
            self.g.preview(node.out(0))
        result = self.run_graph()
        self.assertTrue(all(result.did_run(m) for m in meetings))

    def test_i1_ready_asynchronous_nodes_are_started_first(self):
        image = self.g.image("BLACK")
        sync = [self.g.node("TestWorksElsewhere", value=image.out(0)) for _ in range(2)]
        sleep = self.g.node("TestSleep", value=image.out(0), seconds=0.01)
        for node in [*sync, sleep]:
            self.g.preview(self.g.node("ImageInvert", image=node.out(0)).out(0))
        order = [i for i in self.run_graph().executing if i in {n.id for n in [*sync, sleep]}]
        self.assertEqual(order[0], sleep.id)

    def test_i2_synchronous_nodes_run_while_asynchronous_ones_wait(self):
        image = self.g.image("BLACK")
        waiting = self.g.node("TestMeeting", value=image.out(0), parties=2)
        coming = self.g.node("TestSyncMeeting", value=image.out(0), parties=2)
        for node in (waiting, coming):
            self.g.preview(node.out(0))
        self.run_graph()

    def test_i2_results_are_cached_and_lazy_ones_skipped(self):
        black, white = self.g.image("BLACK"), self.g.image("WHITE")
        sleeps = [self.g.node("TestSleep", value=i.out(0), seconds=0.01) for i in (black, white)]
        mix = self.g.node("TestLazyMixImages", image1=sleeps[0].out(0), image2=sleeps[1].out(0), mask=self.g.mask(0.0).out(0))
        self.g.save(mix.out(0))
        result = self.run_graph()
        self.assertEqual([result.did_run(s) for s in sleeps], [True, False])
        self.assertEqual(self.run_graph().executing == [], self.keeps)

    def test_i3_resources_are_given_back(self):
        image = self.g.image("BLACK")
        users = [self.g.node("TestAsyncResourceUser", value=image.out(0), resource_id=f"{self.mode}{i}", duration=0.01) for i in range(5)]
        for node in users:
            self.g.preview(node.out(0))
        first = self.run_graph()
        self.assertEqual([first.did_run(u) for u in users], [True] * 5)
        second = self.run_graph()
        self.assertEqual([second.did_run(u) for u in users], [not self.keeps] * 5)

    def test_i3_a_resource_is_given_back_after_an_interrupt_too(self):
        image = self.g.image("BLACK")
        user = self.g.node("TestAsyncResourceUser", value=image.out(0), resource_id=f"{self.mode} stopped", duration=1.0)
        self.g.preview(user.out(0))
        prompt_id = self.client.post(self.g.prompt())
        while True:
            message = self.client.socket.next()
            if isinstance(message, dict) and message["type"] == "executing" and message["data"]["node"] == user.id:
                break
        self.server.post("/interrupt", {"prompt_id": prompt_id})
        kinds = [m["type"] for m in self.client.socket.until_done(prompt_id) if isinstance(m, dict)]
        self.assertIn("execution_interrupted", kinds)
        user.inputs["duration"] = 0.01
        self.run_graph()

    def test_i3_a_limit_of_two_lets_two_in(self):
        image = self.g.image("BLACK")
        limited = [self.g.node("TestAsyncConcurrentLimit", value=image.out(0), duration=0.1, node_id=i) for i in range(4)]
        for node in limited:
            self.g.preview(node.out(0))
        self.run_graph()
        self.g.nodes.clear()
        most = self.g.node("TestMostConcurrent", value=1, salt=0)
        self.assertEqual(self.run_graph().output(most)["most"], [2])

    def test_i4_progress_is_told_of_the_node_that_makes_it(self):
        image = self.g.image("BLACK")
        sleeps = [self.g.node("TestSleep", value=image.out(0), seconds=s) for s in (0.05, 0.06)]
        updates = [self.g.node(f"Test{kind}ProgressUpdate", value=image.out(0), sleep_seconds=0.05) for kind in ("Async", "Sync")]
        batch = self.g.node("TestAsyncBatchProcessing", images=self.g.node("StubImage", content="BLACK", height=8, width=8, batch_size=3).out(0),
                            process_time_per_item=0.01)
        preview = self.g.preview(batch.out(0))
        for node in sleeps + updates:
            self.g.preview(node.out(0))
        result = self.run_graph()
        largest = {}
        for told in result.all("progress"):
            largest.setdefault(told["node"], set()).add(told["max"])
            self.assertLessEqual(told["value"], told["max"])
        self.assertEqual(largest, {sleeps[0].id: {0.05}, sleeps[1].id: {0.06}, updates[0].id: {1.0}, updates[1].id: {1.0}, batch.id: {3}})
        self.assertEqual(result.images(preview), [(255, 255)] * 3)


if __name__ == "__main__":
    globals().update(in_modes(PROGRAM, Async) | in_modes(PROGRAM, Sleeping, ("classic",)))
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
