"""What is kept from run to run: the result cache (A) and change fingerprints (B) of ComfyUI's execution tests, over the real server."""

import sys
import unittest

from graphs import Graph, in_modes, text_of

PROGRAM = sys.argv[1]


def mixed(g, mask=0.5):
    nodes = {"black": g.image("BLACK"), "noise": g.image("NOISE"), "mask": g.mask(mask)}
    nodes["mix"] = g.node("TestLazyMixImages", image1=nodes["black"].out(0), image2=nodes["noise"].out(0), mask=nodes["mask"].out(0))
    nodes["save"] = g.save(nodes["mix"].out(0))
    return nodes


class Cache:
    def test_a1_ids_do_not_count_unless_a_class_asks_for_its_own(self):
        def build(prefix):
            g = Graph(prefix)
            first, second = g.image("BLACK", size=17), g.image("BLACK", size=17)
            own = g.node("TestOwnId", value=first.out(0))
            return g, first, second, own, (g.preview(first.out(0)), g.preview(second.out(0)), g.show(own.out(0)))
        g, first, second, own, shown = build(self.g.prefix)
        result = self.run_graph(g)
        self.assertEqual(text_of(result, shown[2]), [own.id])
        if self.keeps:
            self.assertEqual(result.did_run(first) + result.did_run(second), 1, "equal nodes of one graph run once")
        renamed, first, second, own, shown = build(self.g.prefix + " renamed")
        result = self.run_graph(renamed)
        self.assertEqual(result.did_run(first), not self.keeps)
        self.assertTrue(result.did_run(own))
        self.assertEqual(text_of(result, shown[2]), [own.id])

    def test_a1_nodes_that_are_not_idempotent_run_each(self):
        nodes = [self.g.node("TestNotIdempotent", value=1) for _ in range(2)]
        for node in nodes:
            self.g.show(node.out(0))
        result = self.run_graph()
        self.assertEqual([result.did_run(n) for n in nodes], [True, True])

    def test_a1_wiring_counts(self):
        a, b = self.g.node("StubInt", value=1), self.g.node("StubInt", value=2)
        forth = self.g.show(self.g.node("TestIntMathOperation", a=a.out(0), b=b.out(0), operation="subtract").out(0))
        back = self.g.show(self.g.node("TestIntMathOperation", a=b.out(0), b=a.out(0), operation="subtract").out(0))
        result = self.run_graph()
        self.assertEqual((text_of(result, forth), text_of(result, back)), (["-1"], ["1"]))

    def test_a2_the_same_graph_again_runs_nothing(self):
        mixed(self.g)
        self.run_graph()
        again = self.run_graph()
        if self.keeps:
            self.assertEqual(again.executing, [])
            self.assertEqual(sorted(again.cached), sorted(self.g.nodes))
        else:
            self.assertEqual(set(again.executing), set(self.g.nodes))
            self.assertEqual(again.cached, [])

    def test_a3_a_changed_constant_runs_the_node_and_what_follows(self):
        nodes = mixed(self.g)
        self.run_graph()
        nodes["mask"].inputs["value"] = 0.4
        result = self.run_graph()
        for name in ("mask", "mix", "save"):
            self.assertTrue(result.did_run(nodes[name]), name)
        for name in ("black", "noise"):
            self.assertEqual(result.did_run(nodes[name]), not self.keeps, name)

    def test_a4_what_another_prompt_in_between_leaves(self):
        nodes = mixed(self.g)
        self.run_graph()
        other = Graph(self.g.prefix + " other")
        other.preview(other.image("WHITE", size=18).out(0))
        self.run_graph(other)
        result = self.run_graph()
        self.assertEqual(result.did_run(nodes["black"]), self.mode != "lru100")

    def test_a4_a_prompt_that_fails_drops_what_it_does_not_use_too(self):
        nodes = mixed(self.g)
        self.run_graph()
        failing = Graph(self.g.prefix + " failing")
        failing.preview(failing.node("TestSyncError", value=1).out(0))
        self.fail_graph(failing)
        result = self.run_graph()
        self.assertEqual(result.did_run(nodes["black"]), self.mode != "lru100")

    def test_a4_without_a_cache_a_result_goes_once_all_consumers_ran(self):
        made = self.g.node("TestMakesObject", salt=1)
        used = self.g.node("TestUsesObject", object=made.out(0))
        living = self.g.node("TestLivingObjects", after=used.out(0), salt=1)
        count = self.run_graph().output(living)["living"][0]
        self.assertEqual(count, 1 if self.keeps else 0)

    def test_a5_node_objects_live_as_long_as_their_id_is_in_the_graph(self):
        image = self.g.image("BLACK", size=19)
        preview = self.g.preview(image.out(0))

        def prefix(width):
            image.inputs["width"] = width
            return self.run_graph().output(preview)["images"][0]["filename"][:len("ComfyUI_temp_xxxxx")]
        first = prefix(19)
        self.assertEqual(prefix(20), first)
        other = Graph(self.g.prefix + " other")
        other.preview(other.image("WHITE", size=21).out(0))
        self.run_graph(other)
        self.assertNotEqual(prefix(22), first)

    def test_a5_a_plug_in_keeps_a_state_for_each_id(self):
        node, more = self.g.node("TestRemembers", salt=1), self.g.node("TestRemembers", salt=100)
        self.run_graph()
        node.inputs["salt"], more.inputs["salt"] = 2, 101
        result = self.run_graph()
        self.assertEqual([result.output(n)["count"] for n in (node, more)], [[2], [2]])

    def test_a6_nan_never_matches(self):
        made = self.g.node("TestMakeListNode", value1=float("nan"))
        shown = self.g.show(made.out(0))
        for _ in range(2):
            result = self.run_graph()
            self.assertTrue(result.did_run(made))
            self.assertEqual(text_of(result, shown), ["nan"])

    def test_a6_objects_as_constants_never_match(self):
        images = [self.g.image(content).out(0) for content in ("BLACK", "WHITE", "WHITE")]
        sleep = self.g.node("TestParallelSleep", image1=images[0], image2=images[1], image3=images[2], sleep1=0.01, sleep2=0.01, sleep3=0.01)
        self.run_graph()
        sleep.inputs["sleep1"] = 0.02
        result = self.run_graph()
        for child in (1, 2, 3):
            self.assertTrue(result.did_run(f"{sleep.id}.0.0.{child}"))

    def test_a7_records_of_cached_outputs_are_told_and_kept_in_history(self):
        shown = self.g.show(self.g.node("StubInt", value=5).out(0))
        first = self.run_graph()
        second = self.run_graph()
        self.assertEqual(second.output(shown), first.output(shown))
        told = [d["output"] for d in second.all("executed") if d["node"] == shown.id]
        self.assertEqual(told, [{"text": ["5"]}])
        self.assertEqual(set(second.entry["meta"]), {shown.id})

    def test_a8_a_failed_node_leaves_nothing_and_what_finished_stays(self):
        image = self.g.image("BLACK", size=23)
        failing = self.g.node("TestSyncError", value=image.out(0))
        self.g.preview(failing.out(0))
        self.assertTrue(self.fail_graph().did_run(image))
        again = self.fail_graph()
        self.assertEqual(again.did_run(image), not self.keeps)
        self.assertTrue(again.did_run(failing))

    def test_a9_each_mode_keeps_a_prompt_for_the_next_one(self):
        shown = [self.g.show(self.g.node("StubInt", value=v).out(0)) for v in (11, 12, 13)]
        self.run_graph()
        again = self.run_graph()
        self.assertEqual([again.did_run(s) for s in shown], [not self.keeps] * 3)


class Changes:
    def test_b1_a_constant_fingerprint_is_cached_and_nan_is_not(self):
        # The saving node comes first in the prompt: order does not count.
        save = self.g.save(None)
        changed = self.g.node("TestCustomIsChanged", should_change=False)
        save.inputs["images"] = changed.out(0)
        changed.inputs["image"] = self.g.image("BLACK").out(0)
        ran = []
        for should_change in (False, False, True, True):
            changed.inputs["should_change"] = should_change
            result = self.run_graph()
            ran.append(result.did_run(changed))
            self.assertTrue(result.did_run(save) or not result.did_run(changed), "what follows runs as well")
        self.assertEqual(ran, [True, not self.keeps, True, True])

    def test_b2_asked_with_constants_only_even_when_the_linked_result_is_there(self):
        image = self.g.node("StubConstantImage", value=0.5, height=16, width=16, batch_size=1)
        node = self.g.node("TestIsChangedWithConstants", image=image.out(0), value=0.5)
        preview = self.g.preview(node.out(0))
        self.assertEqual(self.run_graph().images(preview), [(63, 63)])
        second = self.run_graph()
        self.assertEqual(second.images(preview), [(63, 63)])
        self.assertEqual(second.did_run(node), not self.keeps)

    def asked(self, node):
        node.inputs["salt"] += 1
        return self.run_graph().output(node)["asked"][0]

    def counting(self, mode):
        return self.g.node("TestCountsChangeQuestions", image=self.g.image("BLACK").out(0), mode=mode, salt=0)

    def test_b2_asked_once_per_prompt(self):
        node = self.counting("b2")
        first = self.asked(node)
        self.assertEqual(self.asked(node), first + 1)

    def test_b3_an_exception_counts_as_never_the_same(self):
        node = self.counting("throw")
        for _ in range(2):
            self.assertTrue(self.run_graph().did_run(node))

    def test_b4_not_asked_when_the_prompt_says_it(self):
        node = self.counting("b4")
        node.members["is_changed"] = ["given"]
        first = self.asked(node)
        self.assertEqual(self.asked(node), first)

    def test_b5_a_fingerprint_may_take_its_time(self):
        node = self.counting("slow")
        self.run_graph()
        self.assertEqual(self.run_graph().did_run(node), not self.keeps)


if __name__ == "__main__":
    globals().update(in_modes(PROGRAM, Cache) | in_modes(PROGRAM, Changes))
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
