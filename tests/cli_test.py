#!/usr/bin/env python3
"""Runs the program as a user does: exit codes, error texts, JSON, help, and a job that is interrupted.

usage: cli_test.py PROGRAM SOURCE_FOLDER [unittest arguments]"""
import json
import os
import pathlib
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PROGRAM = ""
SOURCE = pathlib.Path()
CHECKPOINT = "shapes-sd-tiny.safetensors"
TIMEOUT = 300


def small_workflow():
    """Two steps at 64 by 64."""
    workflow = json.loads((SOURCE / "workflows/txt2img.json").read_text())
    workflow["4"]["inputs"].update(width=64, height=64)
    workflow["5"]["inputs"].update(steps=2)
    return workflow


def plain_png():
    """One grey pixel and no text."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="veneer_cli_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.output = self.folder / "output"

    def veneer(self, *arguments, code, text=None):
        run = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT, input=text)
        self.assertEqual(run.returncode, code, f"{arguments}\nstdout: {run.stdout}\nstderr: {run.stderr}")
        return run

    def workflow(self, workflow):
        path = self.folder / "workflow.json"
        path.write_text(workflow if isinstance(workflow, str) else json.dumps(workflow))
        return path

    def run_workflow(self, workflow, *arguments, code):
        models = () if "--models" in arguments else ("--models", SOURCE / "models/demo")
        return self.veneer("run", self.workflow(workflow), *models, "--output", self.output, "--dtype", "f32", *arguments, code=code)

    def refused(self, workflow, *arguments, says, code=1):
        """Runs and expects an error whose text holds everything in `says`, and which is the same as JSON. Returns the JSON."""
        text = self.run_workflow(workflow, *arguments, code=code)
        self.assertRegex(text.stderr, r"(?m)^error: ")
        self.assertEqual(text.stdout, "")
        for part in says:
            self.assertIn(part, text.stderr)
        error = json.loads(self.run_workflow(workflow, *arguments, "--json", code=code).stdout)["error"]
        self.assertIn(f"error: {error['message']}\n", text.stderr)
        for key, value in error["context"].items():
            self.assertIn(f"  {key}: {value}\n", text.stderr)
        return error

    # Success.

    def test_a_workflow_prints_the_paths_of_its_pictures(self):
        run = self.run_workflow(small_workflow(), code=0)
        paths = run.stdout.split()
        self.assertEqual(paths, [str(self.output / "txt2img_00001_.png")])
        self.assertEqual(pathlib.Path(paths[0]).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_progress_elsewhere_than_on_a_terminal_is_one_line_per_sampler(self):
        lines = self.run_workflow(small_workflow(), code=0).stderr.splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r"^KSampler \(5\) \[#+\] 2/2  [0-9.]+ s$")
        self.assertRegex(lines[1], r"^1 picture in [0-9.]+ s$")

    def test_every_dtype_that_the_help_names_draws(self):
        for dtype in ("auto", "fastest", "f32"):
            self.veneer("run", self.workflow(small_workflow()), "--models", SOURCE / "models/demo", "--output", self.output, "--dtype", dtype, code=0)

    def test_json_describes_the_pictures_and_nothing_else_is_printed(self):
        run = self.run_workflow(small_workflow(), "--json", code=0)
        self.assertEqual(run.stderr, "")
        result = json.loads(run.stdout)
        self.assertEqual(result["images"][0]["path"], str(self.output / "txt2img_00001_.png"))
        self.assertEqual(result["images"][0]["type"], "output")
        self.assertEqual(result["outputs"]["7"]["images"][0]["filename"], "txt2img_00001_.png")
        self.assertEqual(result["nodes_run"], 7)

    def test_a_picture_runs_again_and_gives_the_same_bytes(self):
        first = pathlib.Path(self.run_workflow(small_workflow(), code=0).stdout.strip())
        run = self.veneer("run", first, "--models", SOURCE / "models/demo", "--output", self.output, "--dtype", "f32", code=0)
        second = pathlib.Path(run.stdout.strip())
        self.assertNotEqual(first, second)
        self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_a_workflow_may_come_from_standard_input(self):
        arguments = ("run", "-", "--models", SOURCE / "models/demo", "--output", self.output)
        self.assertIn("txt2img_00001_.png", self.veneer(*arguments, code=0, text=json.dumps(small_workflow())).stdout)

    def test_set_and_seed_change_the_picture_and_its_recipe(self):
        path = self.run_workflow(small_workflow(), "--set", "7.filename_prefix=other", "--set", "5.steps=1", "--seed", "18446744073709551615", code=0).stdout.strip()
        self.assertEqual(path, str(self.output / "other_00001_.png"))
        recipe = pathlib.Path(path).read_bytes()
        self.assertIn(b'"seed": 18446744073709551615', recipe)
        self.assertIn(b'"steps": 1', recipe)

    def test_txt2img_draws_with_a_lora(self):
        run = self.veneer("txt2img", "-m", CHECKPOINT, "-p", "a moon", "--lora", "style-night:0.5", "--steps", 2, "-W", 64, "-H", 64, "--models", SOURCE / "models/demo",
                          "--output", self.output, code=0)
        self.assertIn(b"style-night.safetensors", pathlib.Path(run.stdout.strip()).read_bytes())

    def test_previews_go_to_the_folder_for_them(self):
        workflow = {"1": {"class_type": "EmptyImage", "inputs": {"width": 8, "height": 8, "batch_size": 1, "color": 0}},
                    "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}}
        for folder, arguments in ((self.output / "temp", ()), (self.folder / "previews", ("--temp", self.folder / "previews"))):
            path = pathlib.Path(self.run_workflow(workflow, *arguments, code=0).stdout.strip())
            self.assertEqual(path.parent, folder)
            self.assertTrue(path.is_file())
        self.assertFalse((self.folder / "temp").exists())

    def test_output_that_cannot_be_written_is_an_error(self):
        for arguments in ("--version", "--help", "nodes --models models/demo", "nodes --json --models models/demo"):
            for target in ("> /dev/full", ">&-"):
                with self.subTest((arguments, target)):
                    run = subprocess.run(f'"{PROGRAM}" {arguments} {target}', shell=True, cwd=SOURCE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
                    self.assertEqual(run.returncode, 1)
                    self.assertIn("error: standard output cannot be written", run.stderr)

    # Help.

    def test_help_has_an_example_everywhere(self):
        for command in ((), ("run",), ("txt2img",), ("nodes",), ("variants",), ("memory",), ("verify",)):
            text = self.veneer(*command, "--help", code=0).stdout
            self.assertIn("example: veneer", text)
            self.assertIn("--help", text)

    def test_version(self):
        self.assertRegex(self.veneer("--version", code=0).stdout, r"^veneer \d+\.\d+\.\d+ \(.+\)\n$")

    def test_nodes_lists_classes_and_describes_one(self):
        names = [line.split()[0] for line in self.veneer("nodes", "--models", SOURCE / "models/demo", code=0).stdout.splitlines()]
        self.assertIn("KSampler", names)
        self.assertEqual(names, sorted(names))
        text = self.veneer("nodes", "KSampler", "--models", SOURCE / "models/demo", code=0).stdout
        self.assertRegex(text, r"(?m)^  steps +INT +default 20, from 1 to 10000$")
        self.assertRegex(text, r"(?m)^  LATENT +LATENT$")
        self.assertLessEqual(max(map(len, text.splitlines())), 110)
        for line in text.splitlines():
            self.assertEqual(line, line.rstrip())

    def test_nodes_as_json_lists_the_files_of_the_model_folder(self):
        nodes = json.loads(self.veneer("nodes", "CheckpointLoaderSimple", "--json", "--models", SOURCE / "models/demo", code=0).stdout)
        self.assertEqual(nodes[0]["outputs"], [{"name": n, "type": n} for n in ("MODEL", "CLIP", "VAE")])
        self.assertIn(CHECKPOINT, nodes[0]["inputs"][0]["detail"])

    # A wrong command line.

    def test_a_wrong_command_names_the_commands(self):
        for arguments, message in (((), "a command is missing"), (("bogus",), "no such command")):
            run = self.veneer(*arguments, code=2)
            self.assertIn(message, run.stderr)
            self.assertIn("commands: run, txt2img, nodes, variants, memory, verify", run.stderr)
            self.assertIn("veneer --help", run.stderr)

    def test_a_wrong_flag_points_at_the_commands_help(self):
        for arguments, says in ((("run",), "workflow is required"), (("run", "x.json", "--bogus"), "--bogus"), (("run", "x.json", "--dtype", "f16"), "f16"),
                                (("run", "x.json", "--threads", "-1"), "--threads"), (("txt2img", "-p", "x"), "--model"),
                                (("txt2img", "-m", "x", "-p", "x", "--steps", "0"), "--steps"), (("run", "x.json", "--seed", "abc"), "--seed")):
            with self.subTest(arguments):
                run = self.veneer(*arguments, code=2)
                self.assertIn(says, run.stderr)
                self.assertIn(f"veneer {arguments[0]} --help", run.stderr)
                self.assertEqual(run.stdout, "")
                error = json.loads(self.veneer(*arguments, "--json", code=2).stdout)["error"]
                self.assertEqual(error["code"], "invalid")
                self.assertIn(says, error["message"])

    def test_a_flag_that_may_be_given_again_takes_one_value_each_time(self):
        models, workflow = ("--models", SOURCE / "models/demo"), SOURCE / "workflows/txt2img.json"
        self.veneer("validate", *models, workflow, "--json", code=0)
        self.veneer("dump-graph", *models, workflow, "--dot", code=0)
        self.veneer("verify", *models, CHECKPOINT, "--json", code=0)
        self.veneer("models", "show", *models, CHECKPOINT, "--json", code=0)
        self.assertEqual(json.loads(self.veneer("nodes", *models, "KSampler", "--json", code=0).stdout)[0]["class_type"], "KSampler")
        self.veneer("memory", "--lora", "style-night", CHECKPOINT, *models, code=0)
        small = self.workflow(small_workflow())
        self.veneer("run", "--set", "5.steps=1", small, *models, "--output", self.output, code=0)

    def test_a_name_in_the_file_of_flags_that_is_none_is_an_error(self):
        config = self.folder / "flags.ini"
        for text, name in (("[run]\nstepz=3\n", "run.stepz"), ("nonsense=1\n", "nonsense"), ("[elsewhere]\na=1\n", "[elsewhere]")):
            config.write_text(text)
            errors = self.veneer("--config", config, "nodes", code=2).stderr
            self.assertIn(str(config), errors)
            self.assertIn(name, errors)

    def test_a_seed_is_a_whole_number_of_64_bits(self):
        for seed in ("-1", "-5", "18446744073709551616", "1e23", "0x10", "+1", "1.0", " 1", ""):
            for arguments in (("run", "x.json"), ("txt2img", "-m", "x", "-p", "x")):
                with self.subTest((arguments[0], seed)):
                    run = self.veneer(*arguments, "--seed", seed, code=2)
                    self.assertIn("--seed", run.stderr)
                    self.assertIn("0 to 18446744073709551615", run.stderr)

    def test_leading_zeros_do_not_make_a_seed_octal(self):
        path = self.run_workflow(small_workflow(), "--seed", "010", code=0).stdout.strip()
        self.assertIn(b'"seed": 10', pathlib.Path(path).read_bytes())

    def test_txt2img_names_the_rule_for_sizes_and_guidance(self):
        for flag, value, says in (("-W", "17", "not a multiple of 8: 17"), ("-H", "130", "not a multiple of 8: 130"), ("--cfg", "nan", "not a number: nan")):
            with self.subTest(flag):
                self.assertIn(says, self.veneer("txt2img", "-m", "x", "-p", "x", flag, value, code=2).stderr)

    def test_the_output_folder_has_a_name(self):
        self.assertIn("--output: the name is empty", self.veneer("run", "x.json", "--output", "", code=2).stderr)

    def test_an_unknown_node_class_names_the_nearest(self):
        run = self.veneer("nodes", "KSampel", "--models", SOURCE / "models/demo", code=1)
        self.assertIn("nearest: KSampler", run.stderr)

    # What a workflow and a user can get wrong.

    def test_set_names_what_exists(self):
        self.refused(small_workflow(), "--set", "steps", says=["--set takes NODE.INPUT=VALUE", "example: --set 3.steps=30"])
        self.refused(small_workflow(), "--set", "9.steps=1", says=["no such node", "node: 9", "nodes: 1, 2, 3, 4, 5, 6, 7"])
        self.refused(small_workflow(), "--set", "5.stepz=1", says=["no such input", "node: 5", "class: KSampler", "input: stepz", "steps, cfg"])
        self.refused(small_workflow(), "--set", "5.steps=many", says=["node: 5", "input: steps", "value: many", "allowed: INT from 1 to 10000"])

    def test_values_out_of_range_name_node_input_value_and_what_is_allowed(self):
        error = self.refused(small_workflow(), "--set", "5.steps=0", says=["workflow.json"])
        self.assertEqual(error["code"], "invalid")
        self.assertEqual({k: error["context"][k] for k in ("node", "class", "input", "value", "allowed")},
                         {"node": "5", "class": "KSampler", "input": "steps", "value": "0", "allowed": "INT from 1 to 10000"})
        self.refused(small_workflow(), "--set", "5.denoise=1.5", says=["input: denoise", "value: 1.5", "allowed: FLOAT from 0.0 to 1.0"])
        self.refused(small_workflow(), "--set", "4.width=99999", says=["input: width", "value: 99999", "allowed: INT from 16 to 16384"])
        self.refused(small_workflow(), "--set", "5.sampler_name=eulr", says=["input: sampler_name", "value: eulr", "nearest: euler", "| uni_pc_bh2"])

    def test_a_missing_model_names_those_that_are_there(self):
        self.refused(small_workflow(), "--set", "1.ckpt_name=shapes-sd-tyni.safetensors",
                     says=["node: 1", "class: CheckpointLoaderSimple", "input: ckpt_name", "value: shapes-sd-tyni.safetensors", f"nearest: {CHECKPOINT}", f"allowed: {CHECKPOINT}"])

    def test_a_missing_picture_names_node_and_file(self):
        workflow = {"1": {"class_type": "LoadImage", "inputs": {"image": "cat.png"}}, "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0]}}}
        workflow["2"]["inputs"]["filename_prefix"] = "x"
        self.refused(workflow, says=["node: 1", "class: LoadImage", "input: image", "cat.png"])

    def test_a_folder_without_models_says_so(self):
        self.refused(small_workflow(), "--models", self.folder / "nowhere", says=["no such model folder", "nowhere"])
        (self.folder / "empty").mkdir()
        self.refused(small_workflow(), "--models", self.folder / "empty", says=["input: ckpt_name", "allowed: (there is none)"])

    def test_a_file_of_another_kind_names_node_input_file_and_rule(self):
        models = self.folder / "models"
        (models / "checkpoints").mkdir(parents=True)
        shutil.copy(SOURCE / "models/demo/loras/style-night.safetensors", models / "checkpoints/lora.safetensors")
        (models / "checkpoints/torn.safetensors").write_bytes((SOURCE / "models/demo/checkpoints" / CHECKPOINT).read_bytes()[:100000])
        error = self.refused(small_workflow(), "--models", models, "--set", "1.ckpt_name=lora.safetensors",
                             says=["node: 1", "class: CheckpointLoaderSimple", "input: ckpt_name", "lora.safetensors", "LoRA"])
        self.assertEqual(error["code"], "unsupported")
        error = self.refused(small_workflow(), "--models", models, "--set", "1.ckpt_name=torn.safetensors", says=["node: 1", "input: ckpt_name", "torn.safetensors"])
        self.assertEqual(error["code"], "corrupt")

    def test_a_workflow_that_cannot_be_read_says_why(self):
        self.assertIn("file: nope.json", self.veneer("run", "nope.json", code=1).stderr)
        self.assertIn("the workflow is a folder", self.veneer("run", self.folder, code=1).stderr)
        self.refused('{"1": ', says=["workflow.json"])
        self.refused("", says=["workflow.json"])
        self.refused("[]", says=["not a workflow in API format"])
        self.refused({"1": {"inputs": {}}}, says=["class_type"])

    def test_a_workflow_without_end_is_refused_at_the_limit(self):
        run = self.veneer("run", "/dev/zero", code=1)
        for part in ("the workflow is too large", "file: /dev/zero", "64 MiB"):
            self.assertIn(part, run.stderr)
        with open("/dev/zero", "rb") as endless:
            run = subprocess.run([PROGRAM, "run", "-"], stdin=endless, capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(run.returncode, 1)
        self.assertIn("file: standard input", run.stderr)

    def test_a_folder_as_standard_input_says_why(self):
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        run = subprocess.run([PROGRAM, "run", "-"], stdin=folder, capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot read the workflow", run.stderr)
        self.assertIn("file: standard input", run.stderr)

    def test_an_empty_workflow_of_the_editor_says_that_nothing_runs(self):
        error = self.refused({"nodes": [], "links": [], "version": 0.4}, says=["no node in it that runs"])
        self.assertEqual(error["code"], "invalid")

    def test_a_picture_without_a_recipe_says_so(self):
        (self.folder / "plain.png").write_bytes(plain_png())
        self.assertIn("carries no recipe", self.veneer("run", "plain.png", "--models", SOURCE / "models/demo", code=1).stderr)

    def test_an_unknown_class_in_a_workflow_names_the_nearest(self):
        workflow = small_workflow()
        workflow["5"]["class_type"] = "KSamplr"
        self.refused(workflow, says=["node: 5", "class: KSamplr", "nearest: KSampler"])

    def test_wrong_links_name_node_and_input(self):
        workflow = small_workflow()
        workflow["6"]["inputs"]["samples"] = ["1", 0]
        self.refused(workflow, says=["node: 6", "class: VAEDecode", "input: samples", "MODEL", "LATENT"])
        workflow = small_workflow()
        del workflow["6"]["inputs"]["vae"]
        self.refused(workflow, says=["Required input is missing", "node: 6", "input: vae", "allowed: VAE"])
        workflow["6"]["inputs"]["vae"] = ["6", 0]
        self.refused(workflow, says=["node: 6"])
        workflow["6"]["inputs"]["vae"] = ["77", 0]
        self.refused(workflow, says=["a link leads to a node that does not exist", "node: 6", "class: VAEDecode", "input: vae", '"77"'])
        for slot in (3, -1):
            workflow["6"]["inputs"]["vae"] = ["1", slot]
            error = self.refused(workflow, says=["a link leads to an output that does not exist", "node: 6", "class: VAEDecode", "input: vae"])
            self.assertEqual(json.loads(error["context"]["link"]), ["1", slot])
            self.assertEqual(error["context"]["outputs"], "0 MODEL, 1 CLIP, 2 VAE")
        workflow = small_workflow()
        workflow["7"]["inputs"]["images"] = ["6", 1]
        self.refused(workflow, says=["a link leads to an output that does not exist", "node: 7", "class: SaveImage", "input: images"])

    def test_a_workflow_without_an_output_says_so(self):
        self.refused({"1": {"class_type": "EmptyImage", "inputs": {"width": 8, "height": 8, "batch_size": 1, "color": 0}}}, says=["no outputs"])

    def test_an_output_folder_that_cannot_be_written_names_it(self):
        self.output.write_text("a file where the folder should be")
        self.refused(small_workflow(), says=["output folder", f"folder: {self.output}", "reason: "])
        self.output = self.output / "below"
        run = self.run_workflow(small_workflow(), code=1)
        self.assertIn(f"folder: {self.output}", run.stderr)
        self.assertNotIn("KSampler", run.stderr, "known before anything is drawn")

    def test_a_prefix_cannot_leave_the_output_folder(self):
        self.refused(small_workflow(), "--set", "7.filename_prefix=../up", says=["node: 7", "input: filename_prefix", "leaves the output folder"])
        self.assertFalse((self.folder / "up_00001_.png").exists())

    def test_an_unknown_instruction_set_names_the_known_ones(self):
        self.refused(small_workflow(), "--isa", "mmx", says=["unknown instruction set", "mmx", "avx2"])

    def test_numbers_are_decimal_whatever_they_begin_with(self):
        small = ("txt2img", "-m", CHECKPOINT, "-p", "a moon", "-H", "64", "--models", SOURCE / "models/demo")

        def pixels(steps, cfg, width):
            flags = ("--steps", steps, "--cfg", cfg, "-W", width, "--seed", "7", "--output", self.folder / f"at{steps}", "--json")
            return pathlib.Path(json.loads(self.veneer(*small, *flags, code=0).stdout)["images"][0]["path"]).read_bytes()

        self.assertEqual(pixels("010", "05.5", "064"), pixels("10", "5.5", "64"))
        for flag, value in (("--steps", "0x2"), ("--cfg", "0x10"), ("--cfg", "-0x1"), ("--steps", "0b1")):
            self.assertIn("not a decimal number", self.veneer(*small, flag, value, code=2).stderr)

    def test_strengths_are_decimal_numbers(self):
        for strength, code in (("0x10", 1), ("1e-320", 0), ("+0.5", 0), ("1e999", 1), ("0,5", 1), ("+-1", 1), ("nan", 1)):
            self.veneer("memory", CHECKPOINT, "--lora", f"style-night:{strength}", "--models", SOURCE / "models/demo", code=code)

    def test_txt2img_checks_its_loras(self):
        arguments = ("txt2img", "-m", CHECKPOINT, "-p", "a moon", "--models", SOURCE / "models/demo", "--output", self.output)
        self.assertIn("--lora takes NAME or NAME:STRENGTH", self.veneer(*arguments, "--lora", "style-night:strong", code=1).stderr)
        run = self.veneer(*arguments, "--lora", "style-nigth", code=1)
        self.assertIn("nearest: style-night.safetensors", run.stderr)

    # A job that fails half way.

    def half_a_job(self):
        """Saves one picture; the other one would be of width 0, which comes over a link."""
        black = {"width": 8, "height": 8, "batch_size": 1, "color": 0}
        return {"1": {"class_type": "EmptyImage", "inputs": black}, "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "first"}},
                "3": {"class_type": "PrimitiveInt", "inputs": {"value": 0}},
                "4": {"class_type": "EmptyImage", "inputs": {**black, "width": ["3", 0]}},
                "5": {"class_type": "SaveImage", "inputs": {"images": ["4", 0], "filename_prefix": "second"}}}

    def test_what_was_saved_before_an_error_is_listed_with_it(self):
        run = self.run_workflow(self.half_a_job(), code=1)
        self.assertEqual(run.stdout, f"{self.output / 'first_00001_.png'}\n")
        for part in ("error: the value is outside of the input's range", "node: 4", "class: EmptyImage", "input: width", "value: 0", "allowed: INT from 1 to 16384"):
            self.assertIn(part, run.stderr)
        result = json.loads(self.run_workflow(self.half_a_job(), "--json", code=1).stdout)
        self.assertEqual(result["error"]["context"]["node"], "4")
        self.assertEqual([(image["node"], image["path"]) for image in result["images"]], [("2", str(self.output / "first_00002_.png"))])
        self.assertTrue((self.output / "first_00002_.png").is_file())

    # What others wrote and the terminal shows.

    def test_control_characters_are_shown_as_escapes(self):
        workflow = small_workflow()
        workflow["5"]["class_type"] = "KS\x1b[31m\a\nampler\x7f\u009b2J\u20ac\ud83d\ude00"
        run = self.run_workflow(json.dumps(workflow), code=1)
        self.assertIn("  class: KS\\x1b[31m\\x07\\nampler\\x7f\\u009b2J\u20ac\U0001f600\n", run.stderr)
        self.assertEqual([c for c in run.stderr if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)], [])
        as_json = self.run_workflow(json.dumps(workflow), "--json", code=1).stdout
        self.assertEqual(json.loads(as_json)["error"]["context"]["class"], workflow["5"]["class_type"].encode("utf-16", "surrogatepass").decode("utf-16"))

    def test_bytes_that_are_no_text_are_shown_as_escapes(self):
        run = subprocess.run([PROGRAM, "run", b"a\x9b\xc3(\xed\xa0\x80.json"], cwd=self.folder, capture_output=True, timeout=TIMEOUT)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"  file: a\\x9b\\xc3(\\xed\\xa0\\x80.json\n", run.stderr)

    def test_long_values_are_cut_between_characters_but_not_as_json(self):
        value = "x" + "\u00e9" * 600
        run = self.run_workflow(small_workflow(), "--set", f"5.sampler_name={value}", code=1)
        self.assertIn("  value: x" + "\u00e9" * 499 + "... (1201 bytes)\n", run.stderr)
        error = json.loads(self.run_workflow(small_workflow(), "--set", f"5.sampler_name={value}", "--json", code=1).stdout)["error"]
        self.assertEqual(error["context"]["value"], value)

    def test_progress_escapes_and_cuts_ids(self):
        workflow = small_workflow()
        sampler = "5\x1b[2J" + "9" * 100
        workflow[sampler] = workflow.pop("5")
        workflow["6"]["inputs"]["samples"] = [sampler, 0]
        line = self.run_workflow(workflow, code=0).stderr.splitlines()[0]
        self.assertRegex(line, r"^KSampler \(5\\x1b\[2J9{35}\.\.\. \(105 bytes\)\) \[#+\] 2/2  [0-9.]+ s$")

    def test_paths_are_raw_for_a_script_and_escaped_on_a_terminal(self):
        output = self.folder / "out\x1b[31m"
        workflow = self.workflow({key: node for key, node in self.half_a_job().items() if key in "12"})
        arguments = [PROGRAM, "run", str(workflow), "--models", str(SOURCE / "models/demo"), "--output", str(output)]
        raw = subprocess.run(arguments, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT, check=True)
        self.assertEqual(raw.stdout, f"{output / 'first_00001_.png'}\n")
        terminal, other_end = pty.openpty()
        self.addCleanup(os.close, terminal)
        subprocess.run(arguments, cwd=self.folder, stdout=other_end, stderr=subprocess.DEVNULL, timeout=TIMEOUT, check=True)
        os.close(other_end)
        self.assertEqual(os.read(terminal, 4096).decode().strip(), str(output / "first_00002_.png").replace("\x1b", "\\x1b"))

    def interrupt(self, number):
        workflow = small_workflow()
        workflow["5"]["inputs"]["steps"] = 10000
        arguments = [PROGRAM, "run", self.workflow(workflow), "--models", SOURCE / "models/demo", "--output", self.output]
        terminal, other_end = pty.openpty()
        with subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, stderr=other_end, cwd=self.folder) as process:
            os.close(other_end)
            seen = b""
            try:
                # The bar of the first steps says that sampling is under way.
                while b"/10000" not in seen:
                    seen += os.read(terminal, 4096)
                process.send_signal(number)
                while True:
                    try:
                        part = os.read(terminal, 4096)
                    except OSError:  # the other end is closed
                        break
                    if not part:
                        break
                    seen += part
                process.wait(TIMEOUT)
            finally:
                process.kill()
                os.close(terminal)
        return process.returncode, seen.decode(errors="replace")

    def test_an_interrupted_job_ends_with_an_error_and_leaves_no_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                code, text = self.interrupt(number)
                self.assertEqual(code, 1, text)
                self.assertIn("error: the job was cancelled", text)
                self.assertRegex(text, r"KSampler \(5\) \[[.#]+\] \d+/10000  [0-9.]+ s, [0-9.]+ s left")
                self.assertFalse(self.output.exists() and any(self.output.rglob("*")))


if __name__ == "__main__":
    PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
