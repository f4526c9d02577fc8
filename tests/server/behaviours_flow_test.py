"""Lazy inputs (C), validation (D), errors (E), lists (F), blockers (G), expansion (H), partial execution (J) and output reuse (K): ComfyUI's execution
tests, over the real server."""

import os
import sys
import unittest

from graphs import Graph, in_modes, text_of

PROGRAM = sys.argv[1]
ALL_OF = "prompt_outputs_failed_validation"


class Lazy:
    def mix(self, mask, g=None):
        g = g or self.g
        nodes = {"black": g.image("BLACK"), "white": g.image("WHITE"), "mask": g.mask(mask)}
        nodes["mix"] = g.node("TestLazyMixImages", image1=nodes["black"].out(0), image2=nodes["white"].out(0), mask=nodes["mask"].out(0))
        nodes["save"] = g.save(nodes["mix"].out(0))
        return nodes

    def test_c1_lazy_inputs_wait_until_the_node_was_asked(self):
        nodes = self.mix(0.5)
        order = self.run_graph().executing
        self.assertLess(order.index(nodes["mask"].id), order.index(nodes["mix"].id))
        for name in ("black", "white"):
            self.assertGreater(order.index(nodes[name].id), order.index(nodes["mix"].id))

    def test_c2_only_what_the_mask_needs_is_evaluated(self):
        for mask, black, white, level in ((0.0, True, False, 0), (1.0, False, True, 255), (0.5, True, True, 127)):
            with self.subTest(mask=mask):
                g = Graph(f"{self.g.prefix} {mask}")
                nodes = self.mix(mask, g)
                # Sizes of their own, so that nothing comes from the cache.
                for name in ("black", "white", "mask"):
                    nodes[name].inputs["width"] = nodes[name].inputs["height"] = 30 + int(mask * 10)
                result = self.run_graph(g)
                self.assertEqual((result.did_run(nodes["black"]), result.did_run(nodes["white"])), (black, white))
                self.assertEqual(result.images(nodes["save"]), [(level, level)])

    def test_c3_asking_for_what_is_there_is_fine_and_for_what_is_no_link_an_error(self):
        value = self.g.node("StubInt", value=3)
        node = self.g.node("TestLazyAsks", value=value.out(0), ask="ask")
        shown = self.g.show(node.out(0))
        self.assertEqual(text_of(self.run_graph(), shown), ["3"])
        node.inputs["ask"] = "nonsense"
        error = self.fail_graph().errors[0]
        self.assertEqual(error["node_id"], node.id)
        self.assertIn("nonsense", error["exception_message"])

    def test_c4_asked_again_until_nothing_more_is_asked(self):
        values = [self.g.node("StubInt", value=v).out(0) for v in (41, 42, 43)]
        node = self.g.node("TestLazySteps", value1=values[0], value2=values[1], value3=values[2])
        shown = self.g.show(node.out(0))
        result = self.run_graph()
        self.assertEqual(result.times(node), 4)
        self.assertEqual(text_of(result, shown), ["43"])
        order = [i for i in result.executing if i != node.id]
        self.assertEqual(order, [v[0] for v in values] + [shown.id])

    def test_c5_answers_for_all_elements_of_a_list_are_united(self):
        masks = self.g.node("TestMakeListNode", value1=0.0, value2=0.5, value3=1.0)
        mask = self.g.node("StubMask", value=masks.out(0), height=16, width=16, batch_size=1)
        mix = self.g.node("TestLazyMixImages", image1=self.g.image("BLACK").out(0), image2=self.g.image("WHITE").out(0), mask=mask.out(0))
        save = self.g.save(self.g.node("RebatchImages", images=mix.out(0), batch_size=3).out(0))
        self.assertEqual(self.run_graph().images(save), [(0, 0), (127, 127), (255, 255)])

    def test_c6_a_lazy_input_in_the_cache_is_simply_there(self):
        nodes = self.mix(0.5)
        self.run_graph()
        nodes["mask"].inputs["value"] = 0.25
        result = self.run_graph()
        self.assertEqual(result.times(nodes["mix"]), 1 if self.keeps else 2)

    def test_c7_lazy_rules_hold_in_partial_runs(self):
        first = self.mix(0.0)
        noise = self.g.image("NOISE")
        mask = self.g.mask(0.5, size=17)
        mix = self.g.node("TestLazyMixImages", image1=first["white"].out(0), image2=noise.out(0), mask=mask.out(0))
        other = self.g.save(mix.out(0))
        result = self.run_graph(targets=[first["save"]])
        self.assertTrue(result.did_run(first["save"]))
        for node in (first["white"], noise, mask, mix, other):
            self.assertFalse(result.did_run(node), node.class_type)

    def test_c8_the_question_may_take_its_time(self):
        wanted, other = self.g.node("StubInt", value=81), self.g.node("StubInt", value=82)
        node = self.g.node("TestAsyncLazyCheck", input1=wanted.out(0), input2=other.out(0), condition=True)
        self.g.save(node.out(0))
        result = self.run_graph()
        self.assertEqual((result.did_run(wanted), result.did_run(other)), (True, False))
        # Constants are there already.
        g = Graph(self.g.prefix + " constants")
        g.save(g.node("TestAsyncLazyCheck", input1="value1", input2="value2", condition=True).out(0))
        self.run_graph(g)


class Validation:
    def checked(self, number, first, second=3.0):
        node = self.g.node(f"TestCustomValidation{number}", input1=first, input2=second)
        self.g.save(node.out(0))
        return node

    def test_d1_own_checks_see_constants_as_they_are(self):
        for value, fits in ((5, False), ("foo", False), (5.0, True)):
            with self.subTest(value=value):
                self.g = Graph(f"d1 {value} {self.mode}")
                node = self.checked(1, value)
                if fits:
                    self.run_graph()
                    continue
                answer = self.refused()
                self.assertEqual(answer["error"]["type"], ALL_OF)
                errors = answer["node_errors"][node.id]["errors"]
                self.assertEqual({e["type"] for e in errors}, {"custom_validation_failed"})
                self.assertEqual({e["extra_info"]["input_name"] for e in errors}, {"input1", "input2"})

    def test_d2_types_of_links(self):
        sources = {"StubInt": {"value": 5}, "StubMask": {"value": 0.5, "height": 8, "width": 8, "batch_size": 1}, "StubFloat": {"value": 5.0}}
        cases = [(1, "StubInt", False), (1, "StubMask", False), (1, "StubFloat", True), (2, "StubInt", False), (2, "StubFloat", True),
                 (3, "StubInt", False), (3, "StubFloat", True), (4, "StubInt", False), (4, "StubFloat", True)]
        for number, source, fits in cases:
            with self.subTest(number=number, source=source):
                self.g = Graph(f"d2 {number} {source} {self.mode}")
                node = self.checked(number, self.g.node(source, **sources[source]).out(0))
                if fits:
                    self.run_graph()
                    continue
                kinds = {e["type"] for e in self.refused()["node_errors"][node.id]["errors"]}
                self.assertEqual(kinds, {"return_type_mismatch"} if number in (1, 4) else {"custom_validation_failed"})

    def test_d2_a_wildcard_goes_everywhere(self):
        values = self.g.node("TestMakeListNode", value1=2.0)
        self.checked(3, values.out(0))
        self.run_graph()

    def test_d3_a_check_of_everything_replaces_ranges_and_choices(self):
        for value, fits in ((0.5, True), (5.0, True), (7.0, False)):
            with self.subTest(value=value):
                self.g = Graph(f"d3 {value} {self.mode}")
                self.checked(5, 0.0, value)
                self.run_graph() if fits else self.refused()

    def test_d4_a_cycle_is_refused(self):
        mask = self.g.mask(0.5)
        first = self.g.node("TestLazyMixImages", image1=self.g.image("BLACK").out(0), mask=mask.out(0))
        second = self.g.node("TestLazyMixImages", image1=first.out(0), image2=self.g.image("WHITE").out(0), mask=mask.out(0))
        first.inputs["image2"] = second.out(0)
        self.g.save(second.out(0))
        self.assertEqual(self.refused()["error"]["type"], ALL_OF)

    def test_d5_a_link_to_nowhere_drops_that_output_only(self):
        black, white, mask = self.g.image("BLACK"), self.g.image("WHITE"), self.g.mask(0.5)
        removed = self.g.image("WHITE", identity="removeme")
        outputs = []
        for second in (removed, white):
            mix = self.g.node("TestLazyMixImages", image1=black.out(0), image2=second.out(0), mask=mask.out(0))
            outputs.append(self.g.save(mix.out(0)))
        del self.g.nodes[removed.id]
        result = self.run_graph()
        self.assertEqual([len(result.images(o)) for o in outputs], [0, 1])
        self.g.nodes[removed.id] = removed
        result = self.run_graph()
        self.assertEqual([len(result.images(o)) for o in outputs], [1, 1])

    def test_d6_a_required_lazy_input_has_to_be_there(self):
        node = self.g.node("TestLazyMixImages", image1=self.g.image("BLACK").out(0), mask=self.g.mask(0.0).out(0))
        self.g.save(node.out(0))
        errors = self.refused()["node_errors"][node.id]["errors"]
        self.assertEqual([(e["type"], e["extra_info"]["input_name"]) for e in errors], [("required_input_missing", "image2")])

    def test_d7_a_check_may_take_its_time(self):
        node = self.g.node("TestAsyncValidation", value=5.0, threshold=10.0)
        self.g.save(node.out(0))
        self.run_graph()
        node.inputs["threshold"] = 3.0
        self.assertIn("exceeds threshold", self.refused()["node_errors"][node.id]["errors"][0]["details"])
        self.g = Graph("d7 error")
        self.g.save(self.g.node("TestAsyncValidationError", value=15.0, max_value=10.0).out(0))
        self.refused()

    def test_d8_undeclared_links_are_dependencies_and_arrive(self):
        images = [self.g.image(content).out(0) for content in ("BLACK", "WHITE", "BLACK", "BLACK")]
        average = self.g.node("TestVariadicAverage", **{f"input{i + 1}": image for i, image in enumerate(images)})
        save = self.g.save(average.out(0))
        self.assertEqual(self.run_graph().images(save), [(63, 63)])
        self.g = Graph("d8 constant")
        self.g.save(self.g.node("TestVariadicAverage", input1=self.g.image("WHITE").out(0), no_such_input=5).out(0))
        self.run_graph()


class Errors:
    def test_e1_an_exception_ends_the_run_and_nothing_else(self):
        mix = self.g.node("TestLazyMixImages", image1=self.g.image("BLACK").out(0), image2=self.g.image("NOISE", size=8).out(0),
                          mask=self.g.mask(0.5).out(0))
        self.g.save(mix.out(0))
        error = self.fail_graph().errors[0]
        self.assertEqual((error["node_id"], error["node_type"]), (mix.id, "TestLazyMixImages"))
        self.assertTrue(error["exception_message"].endswith("\n"))
        other = Graph(self.g.prefix + " next")
        other.save(other.image("WHITE").out(0))
        self.run_graph(other)

    def test_e2_a_cycle_made_by_an_expansion_is_blamed_on_the_expanding_node(self):
        node = self.g.node("TestDynamicDependencyCycle", input1=self.g.image("BLACK", size=512).out(0), input2=self.g.image("WHITE", size=512).out(0))
        self.g.save(node.out(0))
        error = self.fail_graph().errors[0]
        self.assertEqual((error["node_id"], error["exception_type"]), (node.id, "graph.DependencyCycleError"))

    def test_e3_an_expansion_may_not_use_an_id_that_is_taken(self):
        images = [self.g.image(c).out(0) for c in ("BLACK", "WHITE", "WHITE")]
        node = self.g.node("TestParallelSleep", image1=images[0], image2=images[1], image3=images[2], sleep1=0.0, sleep2=0.0, sleep3=0.0)
        self.g.show(self.g.node("StubInt", identity=node.id[len(self.g.prefix) + 1:] + ".0.0.2", value=1).out(0))
        error = self.fail_graph().errors[0]
        self.assertEqual(error["node_id"], node.id)
        self.assertIn(f"{node.id}.0.0.2", error["exception_message"])

    def test_e3_faulty_expansions_are_errors_of_the_expanding_node(self):
        for kind in ("two of one id", "unknown class", "unknown link"):
            with self.subTest(kind):
                g = Graph(f"e3 {kind} {self.mode}")
                node = g.node("TestFaultyExpansion", kind=kind)
                self.assertEqual(self.fail_graph(g).errors[0]["node_id"], node.id)

    def test_e4_errors_of_asynchronous_nodes_are_blamed_on_them(self):
        image = self.g.image("BLACK")
        for class_type, inputs, text in (("TestAsyncError", {"error_after": 0.0}, "Intentional async"),
                                         ("TestAsyncTimeout", {"timeout": 0.1, "operation_time": 1.0}, "timed out after 0.1 seconds")):
            with self.subTest(class_type):
                g = Graph(f"e4 {class_type} {self.mode}")
                node = g.node(class_type, value=g.image("BLACK").out(0), **inputs)
                g.save(node.out(0))
                error = self.fail_graph(g).errors[0]
                self.assertEqual(error["node_id"], node.id)
                self.assertIn(text, error["exception_message"])
        self.assertIsNotNone(image)

    def test_e4_an_error_while_asynchronous_nodes_wait_ends_the_run(self):
        image = self.g.image("BLACK")
        # Alone it would wait for ever: only the error ends it.
        waiting = self.g.node("TestMeeting", value=image.out(0), parties=9)
        failing = self.g.node("TestSyncError", value=image.out(0))
        for node in (waiting, failing):
            self.g.preview(node.out(0))
        result = self.fail_graph()
        self.assertEqual(result.errors[0]["node_id"], failing.id)
        self.assertTrue(result.did_run(waiting))


class Lists:
    def numbers(self, *values):
        return self.g.node("TestMakeListNode", **{f"value{i + 1}": v for i, v in enumerate(values)}).out(0)

    def test_f1_a_node_is_called_once_for_each_element_and_short_lists_repeat_their_last(self):
        total = self.g.node("TestIntMathOperation", a=self.numbers(1, 2, 3), b=self.numbers(10, 20), operation="add")
        shown = self.g.show(total.out(0))
        self.assertEqual(text_of(self.run_graph(), shown), ["11", "22", "23"])

    def test_f1_list_outputs_are_joined_and_flattened_by_one_level(self):
        lists = self.g.node("TestMakeListNode", value1=self.numbers(1, 2), value2=5)
        accumulated = self.g.node("TestAccumulateNode", to_add=self.numbers(7, 8))
        shown = self.g.show(lists.out(0))
        kept = self.g.show(self.g.node("TestAccumulationToListNode", accumulation=accumulated.out(0)).out(0))
        result = self.run_graph()
        self.assertEqual(text_of(result, shown), ["1", "5", "2", "5"])
        self.assertEqual(text_of(result, kept), ["7", "8"])

    def test_f2_one_announcement_and_records_joined_member_by_member(self):
        node = self.g.node("RecUI", value=self.numbers("a", "b", "c"))
        result = self.run_graph()
        self.assertEqual(result.times(node), 1)
        self.assertEqual(result.output(node), {"text": ["a", "b", "c"], "extra": [True] * 3, "uid": [node.id] * 3})
        self.assertEqual(len(result.all("executed")), 1)

    def test_f3_a_node_that_wants_lists_is_called_once(self):
        shown = []
        for given in (self.numbers(4, 5, 6), 1):
            whole = self.g.node("TestListToAccumulationNode", list=given)
            shown.append(self.g.show(self.g.node("TestAccumulationGetLengthNode", accumulation=whole.out(0)).out(0)))
        result = self.run_graph()
        self.assertEqual([text_of(result, s) for s in shown], [["3"], ["1"]])

    def test_f4_a_node_without_inputs_is_called_once(self):
        node = self.g.node("TestNoInputs")
        self.assertEqual(text_of(self.run_graph(), node), ["ran"])


class Blockers:
    def test_g1_what_receives_a_blocker_is_not_called(self):
        image = self.g.image("BLACK")
        blocked = self.g.node("TestExecutionBlocker", input=image.out(0), block=True, verbose=False)
        after = self.g.node("ImageInvert", image=blocked.out(0))
        preview, other = self.g.preview(after.out(0)), self.g.preview(image.out(0))
        result = self.run_graph()
        self.assertIsNone(result.output(preview))
        self.assertEqual(result.images(other), [(0, 0)])

    def test_g1_one_blocker_for_all_outputs(self):
        node = self.g.node("TestBlocksAll", input=1, verbose=False)
        shown = [self.g.show(node.out(slot)) for slot in (0, 1)]
        result = self.run_graph()
        self.assertEqual([result.output(s) for s in shown], [None, None])

    def test_g2_only_the_element_is_blocked(self):
        images = self.g.node("TestMakeListNode", **{f"value{i + 1}": self.g.image(c).out(0) for i, c in enumerate(("BLACK", "WHITE", "BLACK"))})
        numbers = self.g.node("TestMakeListNode", **{f"value{i}": self.g.node("StubInt", value=i).out(0) for i in (1, 2, 3)})
        compare = self.g.node("TestIntConditions", a=numbers.out(0), b=2, operation="==")
        blocker = self.g.node("TestExecutionBlocker", input=images.out(0), block=compare.out(0), verbose=False)
        direct = self.g.preview(blocker.out(0))
        listed = self.g.preview(self.g.node("TestMakeListNode", value1=blocker.out(0)).out(0))
        result = self.run_graph()
        self.assertTrue(result.did_run(listed))
        for preview in (direct, listed):
            self.assertEqual(result.images(preview), [(0, 0), (0, 0)])

    def test_g3_a_message_is_told_once_and_the_run_goes_on(self):
        image = self.g.image("BLACK")
        blocked = self.g.node("TestExecutionBlocker", input=image.out(0), block=True, verbose=True)
        first = self.g.node("ImageInvert", image=blocked.out(0))
        self.g.preview(first.out(0))
        other = self.g.preview(image.out(0))
        result = self.run_graph()
        self.assertEqual([(e["node_id"], e["exception_type"], e["exception_message"]) for e in result.errors],
                         [(first.id, "ExecutionBlocked", "Execution Blocked: Blocked Execution")])
        self.assertEqual(len(result.images(other)), 1)

    def test_g4_a_node_that_wants_lists_is_blocked_by_any_element(self):
        numbers = self.g.node("TestMakeListNode", value1=1, value2=2)
        compare = self.g.node("TestIntConditions", a=numbers.out(0), b=2, operation="==")
        blocker = self.g.node("TestExecutionBlocker", input=numbers.out(0), block=compare.out(0), verbose=False)
        whole = self.g.node("TestListToAccumulationNode", list=blocker.out(0))
        shown = self.g.show(self.g.node("TestAccumulationGetLengthNode", accumulation=whole.out(0)).out(0))
        self.assertIsNone(self.run_graph().output(shown))

    def test_g4_asynchronous_nodes_are_blocked_alike(self):
        sleeps = [self.g.node("TestSleep", value=self.g.image(c).out(0), seconds=0.01).out(0) for c in ("BLACK", "WHITE")]
        images = self.g.node("TestMakeListNode", value1=sleeps[0], value2=sleeps[1])
        numbers = self.g.node("TestMakeListNode", value1=1, value2=2)
        compare = self.g.node("TestIntConditions", a=numbers.out(0), b=2, operation="==")
        blocker = self.g.node("TestExecutionBlocker", input=images.out(0), block=compare.out(0), verbose=False)
        after = self.g.node("TestSleep", value=blocker.out(0), seconds=0.01)
        preview = self.g.preview(after.out(0))
        self.assertEqual(self.run_graph().images(preview), [(0, 0)])


class Expansion:
    def parallel(self, seconds=0.01):
        images = [self.g.image(c).out(0) for c in ("BLACK", "WHITE", "WHITE")]
        node = self.g.node("TestParallelSleep", **{f"image{i + 1}": image for i, image in enumerate(images)},
                           **{f"sleep{i}": seconds for i in (1, 2, 3)})
        return node, self.g.save(node.out(0))

    def test_h1_ids_are_the_same_on_every_run_and_the_result_is_cached_under_the_parent(self):
        node, save = self.parallel()
        children = [f"{node.id}.0.0.{i}" for i in (1, 2, 3, 4)]
        result = self.run_graph()
        self.assertEqual(sorted(i for i in result.executing if i.startswith(node.id + ".")), children)
        self.assertEqual(result.images(save), [(170, 170)])
        order = [i for state in result.states() for i, s in state.items() if s["state"] == "finished"]
        self.assertLess(max(order.index(c) for c in children), order.index(node.id), "the parent ends last")
        again = self.run_graph()
        self.assertEqual(again.executing == [], self.keeps)
        node.inputs["sleep1"] = 0.02
        self.assertEqual(sorted(i for i in self.run_graph().executing if i.startswith(node.id + ".")), children)

    def test_h2_messages_name_the_parent(self):
        node, _ = self.parallel()
        result = self.run_graph()
        for message in result.all("executing"):
            if (message["node"] or "").startswith(node.id + "."):
                self.assertEqual(message["display_node"], node.id)
        state = result.states()[-1][f"{node.id}.0.0.1"]
        self.assertEqual((state["node_id"], state["display_node_id"], state["parent_node_id"], state["real_node_id"]),
                         (f"{node.id}.0.0.1", node.id, node.id, node.id))

    def test_h2_h4_output_nodes_of_a_sub_graph_run_and_are_listed_under_their_id(self):
        node = self.g.node("TestExpandsIntoOutput", image=self.g.image("BLACK").out(0), salt=0)
        self.g.preview(node.out(0))
        result = self.run_graph()
        children = [i for i in result.outputs if i.startswith(node.id + ".")]
        self.assertEqual(len(children), 1)
        self.assertEqual(result.images(children[0]), [(255, 255)])
        meta = result.entry["meta"][children[0]]
        self.assertEqual((meta["node_id"], meta["display_node"], meta["parent_node"], meta["real_node_id"]), (children[0], node.id, node.id, node.id))

    def forget(self):
        """Drops what other tests left in the cache: children have no id of their test in what they depend on."""
        self.assertEqual(self.server.post("/free", {"free_memory": True}).status, 200)
        g = Graph(f"{self.g.prefix} forget")
        g.show(g.node("StubInt", value=len(self.g.prefix)).out(0))
        self.run_graph(g)

    def test_h3_equal_children_are_reused_when_the_parent_runs_again(self):
        self.forget()
        node = self.g.node("TestMixedExpansionReturns", input1=0.3)
        self.g.preview(node.out(0))
        first = self.run_graph()
        self.assertTrue([i for i in first.executing if i.startswith(node.id + ".")])
        node.inputs["input1"] = 0.4
        second = self.run_graph()
        self.assertTrue(second.did_run(node))
        children = [i for i in second.executing if i.startswith(node.id + ".")]
        if self.mode in ("classic", "lru100"):
            self.assertEqual(children, [])
        else:
            self.assertTrue(children)

    def test_h4_lazy_rules_hold_in_a_sub_graph(self):
        self.forget()
        node = self.g.node("TestMixedExpansionReturns", input1=0.3)
        self.g.preview(node.out(0))
        order = self.run_graph().executing
        mask, mix = f"{node.id}.0.0.1", f"{node.id}.0.0.4"
        self.assertLess(order.index(mask), order.index(mix))
        self.assertGreater(order.index(f"{node.id}.0.0.2"), order.index(mix))

    def test_h5_mixed_returns_combine_in_order(self):
        values = self.g.node("TestMakeListNode", value1=0.1, value2=0.2, value3=0.3)
        node = self.g.node("TestMixedExpansionReturns", input1=values.out(0))
        first, second = self.g.save(node.out(0)), self.g.save(node.out(1))
        result = self.run_graph()
        self.assertEqual(result.images(first), [(25, 25), (51, 51), (76, 76)])
        self.assertEqual(result.images(second), [(255, 255)] * 3)

    def test_h6_loops_by_recursive_expansion(self):
        black, white = self.g.image("BLACK"), self.g.image("WHITE")
        changed = self.g.node("TestCustomIsChanged", should_change=True, image=white.out(0))
        opened = self.g.node("TestForLoopOpen", remaining=4, initial_value1=changed.out(0))
        average = self.g.node("TestVariadicAverage", input1=black.out(0), input2=opened.out(2))
        closed = self.g.node("TestForLoopClose", flow_control=opened.out(0), initial_value1=average.out(0))
        save = self.g.save(closed.out(0))
        for rounds in (1, 2, 3, 4):
            opened.inputs["remaining"] = rounds
            result = self.run_graph()
            level = 255 // 2 ** rounds
            self.assertEqual(result.images(save), [(level, level)])
            self.assertTrue(result.did_run(changed))

    def test_h7_the_expanding_node_may_be_an_output_node(self):
        node, save = self.parallel()
        del self.g.nodes[save.id]
        result = self.run_graph()
        self.assertTrue(result.did_run(node))
        self.assertTrue(result.did_run(f"{node.id}.0.0.4"))


class Partial:
    def test_j1_only_selected_outputs_run(self):
        images = [self.g.image(c, size=33) for c in ("BLACK", "WHITE", "NOISE")]
        saves = [self.g.save(image.out(0)) for image in images]
        result = self.run_graph(targets=[saves[0], saves[2]])
        self.assertEqual([result.did_run(n) for n in images + saves], [True, False, True] * 2)
        self.assertEqual([len(result.images(s)) for s in saves], [1, 0, 1])

    def test_j1_cached_records_of_others_may_still_show(self):
        images = [self.g.image(c, size=34) for c in ("BLACK", "WHITE")]
        saves = [self.g.save(image.out(0)) for image in images]
        self.run_graph()
        result = self.run_graph(targets=[saves[0]])
        self.assertFalse(result.did_run(saves[1]))
        self.assertEqual(len(result.images(saves[1])), 1 if self.keeps else 0)

    def test_j2_output_nodes_that_a_selected_one_needs_run(self):
        image, other = self.g.image("BLACK", size=35), self.g.image("WHITE", size=35)
        first = self.g.node("TestOutputNodeWithSocketOutput", image=image.out(0), value=1.5)
        second = self.g.node("TestOutputNodeWithSocketOutput", image=first.out(0), value=2.0)
        saves = [self.g.save(link) for link in (first.out(0), second.out(0), other.out(0))]
        result = self.run_graph(targets=[saves[1]])
        self.assertEqual([result.did_run(n) for n in (image, first, second, saves[1])], [True] * 4)
        self.assertEqual([result.did_run(n) for n in (other, saves[0], saves[2])], [False] * 3)

    def test_j3_an_empty_list_is_refused_and_other_ids_count_for_nothing(self):
        image = self.g.image("BLACK", size=36)
        save = self.g.save(image.out(0))
        self.assertEqual(self.refused(partial_execution_targets=[])["error"]["type"], "prompt_no_outputs")
        self.assertEqual(self.refused(partial_execution_targets=[image.id, "nobody"])["error"]["type"], "prompt_no_outputs")
        self.assertTrue(self.run_graph(targets=[save, image, "nobody"]).did_run(save))


class Reuse:
    def test_k1_equal_output_nodes_share_one_run_and_both_have_the_record(self):
        image = self.g.image("BLACK", size=37)
        saves = [self.g.save(image.out(0), prefix=f"k1{self.mode}") for _ in range(2)]
        result = self.run_graph()
        self.assertEqual([len(result.images(s)) for s in saves], [1, 1])
        self.assertEqual({d["node"] for d in result.all("executed") if d["output"]}, {s.id for s in saves})
        if self.keeps:
            self.assertEqual(sum(result.did_run(s) for s in saves), 1)
            files = [f for f in os.listdir(os.path.join(self.server.base, "output")) if f.startswith(f"k1{self.mode}")]
            self.assertEqual(len(files), 1)


if __name__ == "__main__":
    # One class for each mode: one server for all of these tests.
    class Flow(Lazy, Validation, Errors, Lists, Blockers, Expansion, Partial, Reuse):
        pass
    globals().update(in_modes(PROGRAM, Flow))
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
