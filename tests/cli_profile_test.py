#!/usr/bin/env python3
"""Profiles of jobs: exact counts of ops on the demo model, a trace that loads, and times that add up.

usage: cli_profile_test.py PROGRAM SOURCE_FOLDER [unittest arguments]"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
SOURCE = pathlib.Path()
STEPS = 3

# The demo's UNet has 11 residual blocks, 7 of them with a 1x1 convolution around them, which is a matrix product; 7 transformers of one block each;
# two levels to go down and up again.
RESIDUAL, SKIPS, TRANSFORMERS, LEVELS_DOWN = 11, 7, 7, 2
EVERY_EVALUATION = {
    # One per level on the way down, four small ones on the way up; the first and the last one.
    "conv2d": 2 * RESIDUAL + (1 + 4) * LEVELS_DOWN + 2,
    "group_norm_silu": 2 * RESIDUAL + 1,
    "group_norm": TRANSFORMERS,
    "layer_norm": 3 * TRANSFORMERS,
    "attention": 2 * TRANSFORMERS,
    "geglu": TRANSFORMERS,
    "concat_channels": 6,
    "weave": 2 * LEVELS_DOWN,
    "timestep_embedding": 1,
    "silu": 1,
    "to_nhwc": 1,
    "to_nchw": 1,
}
# Two of the timestep, one per residual block, its 1x1 convolutions; per transformer projections in and out, four of self-attention, query and output of
# cross-attention, two of the feed-forward.
LINEAR_OF_EVALUATION = 2 + RESIDUAL + SKIPS + TRANSFORMERS * (2 + 4 + 2 + 2)
# Keys and values of cross-attention: at the first evaluation only.
LINEAR_OF_TEXT = 2 * TRANSFORMERS


class Profile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="veneer_profile_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.trace_file = cls.folder / "trace.json"
        cls.job = cls.txt2img("--json", "--profile", cls.trace_file)
        cls.profile = json.loads(cls.job.stdout)["profile"]
        cls.spans = [event for event in json.loads(cls.trace_file.read_text())["traceEvents"] if event["ph"] == "X"]

    @classmethod
    def txt2img(cls, *arguments):
        command = [PROGRAM, "txt2img", "-m", "shapes-sd-tiny.safetensors", "-p", "a moon", "--steps", STEPS, "-W", 64, "-H", 64, "--dtype", "f32",
                   "--models", SOURCE / "models/demo", "--output", cls.folder / "output", *arguments]
        return subprocess.run(list(map(str, command)), cwd=cls.folder, capture_output=True, text=True, timeout=300, check=False)

    def within(self, name):
        """The spans of ops within all spans of a network, by name."""
        counts = collections.Counter()
        for around in self.spans:
            if (around["cat"], around["name"]) != ("network", name):
                continue
            end = around["ts"] + around["dur"]
            counts.update(e["name"] for e in self.spans
                          if e["cat"] == "op" and e["tid"] == around["tid"] and around["ts"] <= e["ts"] and e["ts"] + e["dur"] <= end + 0.002)
        return counts

    def test_counts_of_the_networks_ops_are_those_of_its_layout(self):
        ops = self.within("unet")
        self.assertEqual({name: ops[name] for name in EVERY_EVALUATION}, {name: STEPS * count for name, count in EVERY_EVALUATION.items()})
        self.assertEqual(ops["linear"], STEPS * LINEAR_OF_EVALUATION + LINEAR_OF_TEXT)
        self.assertEqual(self.profile["unet"]["calls"], STEPS)

    def test_keys_and_values_of_the_text_are_made_once(self):
        rows = [row for row in self.profile["rows"] if row["name"] == "linear" and row["shape"].startswith("[2, 77, ")]
        self.assertEqual(sum(row["calls"] for row in rows), LINEAR_OF_TEXT)

    def test_every_node_step_and_network_has_a_span(self):
        names = collections.Counter((event["cat"], event["name"]) for event in self.spans)
        for node, count in (("CheckpointLoaderSimple", 1), ("CLIPTextEncode", 2), ("EmptyLatentImage", 1), ("KSampler", 1), ("VAEDecode", 1), ("SaveImage", 1)):
            self.assertEqual(names["node", node], count, node)
        for kind, name, count in (("step", "step", STEPS), ("network", "unet", STEPS), ("network", "text encoder", 2), ("network", "vae decoder", 1)):
            self.assertEqual(names[kind, name], count, name)

    def test_times_add_up_to_no_more_than_the_wall(self):
        self.assertLessEqual(sum(row["seconds"] for row in self.profile["rows"]), self.profile["wall_seconds"] * (1 + 1e-9))
        for row in self.profile["rows"]:
            self.assertGreaterEqual(row["seconds"], -1e-9, row)
        unet = self.profile["unet"]
        self.assertAlmostEqual(unet["matrix_share"] + unet["other_share"] + unet["rest_share"], 1)
        self.assertGreater(unet["flops"], 0)

    def test_spans_lie_within_each_other_or_apart(self):
        for thread in {event["tid"] for event in self.spans}:
            ends = []
            for event in sorted((e for e in self.spans if e["tid"] == thread), key=lambda e: (e["ts"], -e["dur"])):
                while ends and ends[-1] <= event["ts"] + 0.001:
                    ends.pop()
                self.assertTrue(not ends or event["ts"] + event["dur"] <= ends[-1] + 0.002, event)
                ends.append(event["ts"] + event["dur"])

    def test_text_prints_a_table_beside_the_pictures(self):
        run = self.txt2img("--profile", self.folder / "second.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"(?m)^op +shape +dtype +calls +time +rate +share$")
        self.assertRegex(run.stderr, rf"(?m)^{STEPS} evaluations of the diffusion network in .*GFLOP/s: ")
        self.assertRegex(run.stderr, rf"(?m)^{STEPS - 1} steps after the first, .* outside of the diffusion network$")
        self.assertRegex(run.stdout, r"^\S+\.png\n$")
        self.assertTrue((self.folder / "second.json").exists())

    def test_without_the_flag_there_is_none(self):
        self.assertNotIn("profile", json.loads(self.txt2img("--json").stdout))

    def test_files_that_cannot_be_written_are_told_before_the_job(self):
        for path in (self.folder / "nowhere" / "trace.json", self.folder, "-"):
            run = self.txt2img("--profile", path)
            self.assertEqual(run.returncode, 1, path)
            self.assertIn(str(path), run.stderr)
            self.assertNotIn("KSampler", run.stderr)


if __name__ == "__main__":
    PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
