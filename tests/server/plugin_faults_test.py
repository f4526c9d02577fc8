"""Plug-ins that misbehave while nodes run: each fault is an error of its node, and the server goes on."""

import json
import sys
import unittest

from graphs import Graph, Refused, in_modes, text_of

PROGRAM = sys.argv[1]


class Faults:
    def misbehave(self, kind):
        g = Graph(f"{self.g.prefix} {kind}")
        node = g.node("TestMisbehaves", kind=kind, salt=0)
        g.preview(node.out(0))
        return node, self.client.run(g)

    def test_each_fault_is_an_error_of_its_node(self):
        texts = {"too few": "number of outputs", "too many": "number of outputs", "wrong type": "another type", "nan progress": "not finite",
                 "huge": "", "overflow": "", "negative": "", "shape": "shape", "throw int": "no exception", "bad text": "bytes ??",
                 "bad ui": "object of arrays", "blocker and output": "beside the blocker", "made-up handle": "no call under way",
                 "wrong place": "not in this function", "list for one": "another type", "null": "another type"}
        for kind, text in texts.items():
            with self.subTest(kind):
                node, result = self.misbehave(kind)
                self.assertFalse(result.succeeded)
                self.assertEqual(result.errors[0]["node_id"], node.id)
                self.assertIn(text, result.errors[0]["exception_message"])
        self.assertTrue(self.misbehave("nothing wrong")[1].succeeded)

    def test_nan_is_told_by_the_node_that_receives_it(self):
        result = self.misbehave("nan")[1]
        self.assertFalse(result.succeeded)
        self.assertEqual(result.errors[0]["node_type"], "PreviewImage")

    def test_handles_that_were_kept_are_void(self):
        node = self.g.node("TestUsesLeftBehind", salt=0)
        shown = self.g.show(node.out(0))
        self.run_graph()
        for salt in (1, 2):
            node.inputs["salt"] = salt
            self.assertEqual(text_of(self.run_graph(), shown), ["3"])

    def test_functions_of_the_host_may_be_called_from_another_thread(self):
        shown = self.g.show(self.g.node("TestWorksElsewhere", value=5).out(0))
        result = self.run_graph()
        self.assertEqual(text_of(result, shown), ["5"])
        self.assertEqual(len(result.all("progress")), 1)

    def test_endless_expansion_ends(self):
        node = self.g.node("TestFaultyExpansion", kind="endless")
        prompt_id = self.client.post(self.g.prompt())
        for _ in range(50):
            self.client.socket.next()
        self.server.post("/interrupt", {"prompt_id": prompt_id})
        last = self.client.socket.until_done(prompt_id)
        self.assertTrue([m for m in last if m["type"] in ("execution_interrupted", "execution_error")])
        self.assertIsNotNone(node)

    def test_classes_are_described_as_packs_are(self):
        info = self.server.get("/object_info").json
        self.assertEqual(info["StubImage"]["python_module"], "custom_nodes.testing")
        self.assertEqual(info["StubImage"]["input"]["required"]["content"], [["WHITE", "BLACK", "NOISE"]])
        self.assertEqual(info["StubImage"]["input"]["required"]["height"], ["INT", {"default": 512, "min": 1, "max": 1024 ** 3, "step": 1}])
        self.assertEqual(info["TestLazyMixImages"]["input"]["required"]["image1"], ["IMAGE", {"lazy": True}])
        self.assertEqual(info["TestWhileLoopClose"]["input"]["required"]["flow_control"], ["FLOW_CONTROL", {"rawLink": True}])
        self.assertEqual(info["TestWhileLoopClose"]["input"]["required"]["condition"], ["BOOLEAN", {"forceInput": True}])
        self.assertEqual(info["TestMakeListNode"]["output_is_list"], [True])
        self.assertEqual(info["TestSleep"]["input"]["hidden"], {"unique_id": "UNIQUE_ID"})
        self.assertTrue(info["TestParallelSleep"]["output_node"])
        listed = {"StubImage", "StubConstantImage", "StubMask", "StubInt", "StubFloat", "TestLazyMixImages", "TestVariadicAverage", "TestCustomIsChanged",
                  "TestIsChangedWithConstants", "TestDynamicDependencyCycle", "TestMixedExpansionReturns", "TestSamplingInExpansion", "TestSleep",
                  "TestParallelSleep", "TestOutputNodeWithSocketOutput", "TestWhileLoopOpen", "TestWhileLoopClose", "TestForLoopOpen", "TestForLoopClose",
                  "TestExecutionBlocker", "TestAccumulateNode", "TestAccumulationHeadNode", "TestAccumulationTailNode", "TestAccumulationToListNode",
                  "TestListToAccumulationNode", "TestAccumulationGetLengthNode", "TestAccumulationGetItemNode", "TestAccumulationSetItemNode",
                  "TestIntMathOperation", "TestMakeListNode", "TestIntConditions", "TestFloatConditions", "TestStringConditions", "TestToBoolNode",
                  "TestBoolOperationNode", "TestAsyncValidation", "TestAsyncError", "TestAsyncValidationError", "TestAsyncTimeout", "TestSyncError",
                  "TestAsyncLazyCheck", "TestDynamicAsyncGeneration", "TestAsyncResourceUser", "TestAsyncBatchProcessing", "TestAsyncConcurrentLimit",
                  "TestAsyncProgressUpdate", "TestSyncProgressUpdate"} | {f"TestCustomValidation{i}" for i in range(1, 6)}
        self.assertEqual(listed - set(info), set())

    def test_lists_that_travel_as_one_value(self):
        value = None
        for i in (1, 2, 3):
            more = {"accumulation": value} if value else {}
            value = self.g.node("TestAccumulateNode", to_add=i, **more).out(0)
        head, tail = self.g.node("TestAccumulationHeadNode", accumulation=value), self.g.node("TestAccumulationTailNode", accumulation=value)
        item = self.g.node("TestAccumulationGetItemNode", accumulation=value, index=-1)
        changed = self.g.node("TestAccumulationSetItemNode", accumulation=value, index=0, value=9)
        listed = self.g.node("TestAccumulationToListNode", accumulation=changed.out(0))
        shown = [self.g.show(link) for link in (head.out(1), tail.out(1), item.out(0), listed.out(0))]
        result = self.run_graph()
        self.assertEqual([text_of(result, s) for s in shown], [["1"], ["3"], ["3"], ["9", "2", "3"]])

    def test_arithmetic_of_the_helper_nodes(self):
        cases = {("add", 2, 3): "5", ("divide", -7, 2): "-4", ("modulo", -7, 2): "1", ("power", 2, 10): "1024", ("multiply", 3, -4): "-12"}
        shown = {case: self.g.show(self.g.node("TestIntMathOperation", a=case[1], b=case[2], operation=case[0]).out(0)) for case in cases}
        result = self.run_graph()
        self.assertEqual({case: text_of(result, node)[0] for case, node in shown.items()}, cases)
        g = Graph(self.g.prefix + " zero")
        node = g.node("TestIntMathOperation", a=1, b=0, operation="divide")
        g.show(node.out(0))
        self.assertEqual(self.fail_graph(g).errors[0]["node_id"], node.id)

    def test_hostile_prompts_for_plug_ins_are_refused(self):
        for inputs in ({"content": "WHITE", "height": 2 ** 40, "width": 1, "batch_size": 1}, {"content": "GREEN", "height": 1, "width": 1, "batch_size": 1},
                       {"content": ["1", 7], "height": 1, "width": 1, "batch_size": 1}):
            g = Graph("hostile " + json.dumps(inputs))
            g.preview(g.node("StubImage", **inputs).out(0))
            with self.assertRaises(Refused):
                self.client.run(g)
        g = Graph("far too large")
        g.preview(g.node("StubImage", content="WHITE", height=2 ** 30, width=2 ** 30, batch_size=2 ** 30).out(0))
        self.assertFalse(self.client.run(g).succeeded)


if __name__ == "__main__":
    globals().update(in_modes(PROGRAM, Faults, ("classic", "none")))
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
