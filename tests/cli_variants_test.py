#!/usr/bin/env python3
"""Runs the program's commands about variants, memory and files as a user does, and the flags that go with them.

usage: cli_variants_test.py PROGRAM SOURCE_FOLDER [unittest arguments]"""
import ctypes
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import unittest

import cli_test
from cli_test import CHECKPOINT, TIMEOUT, small_workflow

LORA_LAYERS = 141  # of each demo LoRA: 117 of the UNet, 24 of the text encoder


def write_safetensors(path, shapes):
    """Zeros in f32, by name."""
    header, data = {}, b""
    for name, shape in shapes.items():
        size = 4
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += bytes(size)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def refuse_pinning():
    """In a child: no memory may be locked, not by root either."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    pr_capbset_drop, cap_ipc_lock = 24, 14
    ctypes.CDLL(None, use_errno=True).prctl(pr_capbset_drop, cap_ipc_lock, 0, 0, 0)


class ProgramCase(unittest.TestCase):
    setUp = cli_test.CommandLine.setUp
    veneer = cli_test.CommandLine.veneer
    workflow = cli_test.CommandLine.workflow

    def demo(self, command, *arguments, code=0):
        return self.veneer(command, CHECKPOINT, "--models", cli_test.SOURCE / "models/demo", "--dtype", "f32", *arguments, code=code)

    def demo_json(self, command, *arguments, code=0):
        run = self.demo(command, *arguments, "--json", code=code)
        self.assertEqual(run.stderr, "")
        return json.loads(run.stdout)

    def own_models(self):
        """A model folder with copies of the demo's files, to be damaged."""
        models = self.folder / "models"
        if not models.exists():
            shutil.copytree(cli_test.SOURCE / "models/demo", models)
        return models

    def fails(self, *arguments, says, code=1):
        """An error that holds everything in `says`, as text and the same as JSON. Returns the JSON."""
        text = self.veneer(*arguments, code=code)
        self.assertRegex(text.stderr, r"(?m)^error: ")
        self.assertEqual(text.stdout, "")
        for part in says:
            self.assertIn(part, text.stderr)
        error = json.loads(self.veneer(*arguments, "--json", code=code).stdout)["error"]
        self.assertIn(f"error: {error['message']}\n", text.stderr)
        return error


class Variants(ProgramCase):
    def test_a_table_tells_what_each_lora_does(self):
        lines = self.demo("variants", "--lora", "style-night:0.8", "--lora", "style-outline").stdout.splitlines()
        self.assertRegex(lines[3], r"^UNet +sd1\.unet +[0-9a-f]{32} +117 +of 324$")
        self.assertRegex(lines[4], r"^text encoder +clip_l +[0-9a-f]{32} +24 +of 68$")
        self.assertRegex(lines[7], rf"^style-night\.safetensors +0\.8 +unknown +lora +{LORA_LAYERS}( +0){{4}}$")
        self.assertRegex(lines[8], rf"^style-outline\.safetensors +1 +unknown +lora +{LORA_LAYERS}( +0){{4}}$")
        for line in lines:
            self.assertEqual(line, line.rstrip())

    def test_lists_are_cut_unless_all_is_asked_for(self):
        layer = "lora_unet_output_blocks_5_0_out_layers_3"
        text = self.demo("variants", "--lora", "style-night").stdout
        self.assertIn(f"... {LORA_LAYERS - 5} more (--all)", text)
        self.assertNotIn(layer, text)
        text = self.demo("variants", "--lora", "style-night", "--all").stdout
        self.assertNotIn("more (--all)", text)
        self.assertIn(layer, text)

    def test_json_is_complete(self):
        report = self.demo_json("variants", "--lora", "style-night:0.8")
        self.assertEqual([part["part"] for part in report["parts"]], ["unet", "text_encoder"])
        adapter = report["adapters"][0]
        self.assertEqual((adapter["name"], adapter["strength"], adapter["kinds"]), ("style-night.safetensors", 0.8, {"lora": LORA_LAYERS}))
        matched = {match["key"] for match in adapter["matched"]}
        self.assertEqual(matched, {key for part in report["parts"] for key in part["patched_keys"]})
        for empty in ("mismatched", "skipped", "overridden", "missing_keys", "unused_layers", "unused_keys"):
            self.assertEqual(adapter[empty], [])

    def test_fingerprints_are_the_same_in_every_process_and_place(self):
        def fingerprints(*arguments, models=cli_test.SOURCE / "models/demo"):
            run = self.veneer("variants", CHECKPOINT, "--models", models, "--dtype", "f32", "--json", *arguments, code=0)
            return [part["fingerprint"] for part in json.loads(run.stdout)["parts"]]

        night = fingerprints("--lora", "style-night")
        self.assertEqual(night, fingerprints("--lora", "style-night"))
        self.assertEqual(night, fingerprints("--lora", "style-night:1.0", models=self.own_models()))
        others = [fingerprints(), fingerprints("--lora", "style-night:0.5"), fingerprints("--lora", "style-outline")]
        self.assertEqual(len({tuple(other) for other in [night, *others]}), 4)

    def test_a_partial_match_lists_what_does_not_fit_and_why(self):
        models = self.own_models()
        layer = "lora_unet_input_blocks_3_1_transformer_blocks_0_attn2_to_k"
        write_safetensors(models / "loras/partly.safetensors",
                          {f"{layer}.lora_up.weight": [3, 4], f"{layer}.lora_down.weight": [4, 5], "no_such\x1b[31m.lora_up.weight": [4, 4],
                           "lora_te_text_model_encoder_layers_0_mlp_fc1.diff": [512, 128]})
        text = self.veneer("variants", CHECKPOINT, "--lora", "partly", "--models", models, code=0).stdout
        self.assertRegex(text, r"(?m)^partly\.safetensors +1 +unknown +diff +1 +1 +0 +0 +1$")
        self.assertRegex(text, rf"(?m)^  {layer} +want \[64, 128\], got \[3, 4\]")
        self.assertIn("  no_such\\x1b[31m\n", text)

    def test_a_lora_of_another_architecture_names_file_and_both_architectures(self):
        models = self.own_models()
        layer = "lora_unet_double_blocks_0_img_attn_qkv"
        write_safetensors(models / "loras/flux.safetensors", {f"{layer}.lora_up.weight": [8, 4], f"{layer}.lora_down.weight": [4, 8]})
        for command in ("variants", "memory"):
            error = self.fails(command, CHECKPOINT, "--lora", "style-night", "--lora", "flux", "--models", models,
                               says=["no layer of the file matches the model", "flux.safetensors", "file architecture: flux", "model architecture: sd1.unet"])
            self.assertEqual(error["code"], "invalid")

    def test_unknown_names_give_the_nearest(self):
        for command in ("variants", "memory", "verify"):
            self.fails(command, "shapes-sd-tyni", "--models", cli_test.SOURCE / "models/demo", says=["there is no such model", f"nearest: {CHECKPOINT}"])
        self.fails("variants", CHECKPOINT, "--lora", "style-nihgt", "--models", cli_test.SOURCE / "models/demo", says=["nearest: style-night.safetensors"])
        self.fails("variants", "../" + CHECKPOINT, "--models", cli_test.SOURCE / "models/demo", says=["'..'"])

    def test_strengths_are_finite_numbers_in_loraloaders_range(self):
        rules = {"nan": "not finite", "inf": "not finite", "-inf": "not finite", "1e999": "out of range", "101": "out of range", "strong": "not a number",
                 "1x": "not a number", " 1": "not a number", "": "missing"}
        for strength, rule in rules.items():
            with self.subTest(strength):
                self.fails("variants", CHECKPOINT, "--lora", f"style-night:{strength}",
                           says=["--lora takes NAME or NAME:STRENGTH", "flag: --lora", f"value: style-night:{strength}", f"rule: the strength is {rule}",
                                 "allowed: -100 to 100", "example: "])
        self.fails("variants", CHECKPOINT, "--lora", ":1", says=["rule: the name is missing", "value: :1"])

    def test_strength_zero_is_the_base(self):
        def fingerprints(*loras):
            return [(part["fingerprint"], part["patched_keys"]) for part in self.demo_json("variants", *loras)["parts"]]

        self.assertEqual(fingerprints("--lora", "style-night:0", "--lora", "style-outline:-0.0"), fingerprints())

    def test_what_the_reference_skips_is_in_text_and_json(self):
        models = self.own_models()
        layer = "lora_unet_input_blocks_3_1_transformer_blocks_0_attn2_to_k"
        write_safetensors(models / "loras/odd.safetensors", {f"{layer}.lora_up.weight": [3, 4], f"{layer}.lora_down.weight": [4, 5]})
        arguments = ("variants", CHECKPOINT, "--lora", "odd", "--models", models, "--patch-compat", "reference")
        text = self.veneer(*arguments, code=0).stdout
        self.assertIn("odd.safetensors: warning: skipped when weights are computed (--patch-compat reference)", text)
        self.assertRegex(text, rf"(?m)^  {layer} +want \[64, 128\], got \[3, 4\]")
        adapter = json.loads(self.veneer(*arguments, "--json", code=0).stdout)["adapters"][0]
        self.assertEqual(adapter["matched"], [])
        (skipped,) = adapter["skipped"]
        self.assertEqual((skipped["layer"], skipped["want"]), (layer, "[64, 128]"))
        self.assertIn(f"{layer}.lora_up.weight [3, 4]", skipped["tensors"])
        for mode in ("auto", "branch"):
            run = self.veneer("txt2img", "-m", CHECKPOINT, "-p", "a moon", "--lora", "odd", "--steps", 1, "-W", 64, "-H", 64, "--models", models,
                              "--output", self.output, "--patch-compat", "reference", "--lora-apply-mode", mode, "--json", code=0)
            (report,) = json.loads(run.stdout)["reports"]
            for part in ("odd.safetensors", "warning: 1 left out", layer, "want [64, 128]", "attn2.to_k.weight"):
                self.assertIn(part, report)

    def test_content_that_breaks_a_weight_names_file_and_tensor_in_every_mode(self):
        models = self.own_models()
        layer = "lora_unet_middle_block_1_transformer_blocks_0_attn1_to_q"
        path = models / "loras/broken.safetensors"
        write_safetensors(path, {f"{layer}.lora_down.weight": [4, 128], f"{layer}.lora_up.weight": [128, 4]})
        data = bytearray(path.read_bytes())
        data[-4:] = struct.pack("<f", float("nan"))
        path.write_bytes(data)
        for mode in ("materialised", "branch", "on-demand"):
            with self.subTest(mode):
                self.fails("txt2img", "-m", CHECKPOINT, "-p", "a moon", "--lora", "style-night", "--lora", "broken", "--steps", 1, "-W", 64, "-H", 64,
                           "--models", models, "--output", self.output, "--lora-apply-mode", mode,
                           says=["not finite", "broken.safetensors", f"tensor: {layer}.lora_up.weight", "attn1.to_q.weight", "allowed: "])

    def test_a_small_file_cannot_ask_for_a_large_weight(self):
        models = self.own_models()
        layer = "lora_unet_middle_block_1_transformer_blocks_0_attn1_to_q"
        path = models / "loras/growing.safetensors"
        write_safetensors(path, {f"{layer}.lora_down.weight": [1, 128], f"{layer}.lora_up.weight": [1000000, 1], f"{layer}.reshape_weight": [2]})
        data = bytearray(path.read_bytes())
        data[-8:] = struct.pack("<2f", 1000000, 128)
        path.write_bytes(data)
        self.fails("txt2img", "-m", CHECKPOINT, "-p", "a moon", "--lora", "growing", "--models", models, "--output", self.output,
                   says=["growing.safetensors", f"{layer}.reshape_weight", "want: [128, 128]", "got: [1000000, 128]", "limit: 1048576 elements"])

    def test_files_that_are_no_models_are_errors_that_name_them(self):
        models = self.own_models()
        (models / "checkpoints/text.safetensors").write_text("hello")
        (models / "checkpoints/empty.safetensors").write_bytes(b"")
        shutil.copy(models / "loras/style-night.safetensors", models / "checkpoints/lora.safetensors")
        (models / "loras/torn.safetensors").write_bytes((models / "loras/style-night.safetensors").read_bytes()[:500000])
        (models / "checkpoints/folder.safetensors").mkdir()
        os.mkfifo(models / "checkpoints/pipe.safetensors")
        (models / "checkpoints/loop.safetensors").symlink_to("loop.safetensors")
        (models / "checkpoints/closed.safetensors").write_text("hello")
        (models / "checkpoints/closed.safetensors").chmod(0)
        names = ["text", "empty", "lora", "folder", "pipe", "loop"] + ([] if os.geteuid() == 0 else ["closed"])
        for command in ("variants", "memory", "verify"):
            for name in names:
                with self.subTest((command, name)):
                    self.fails(command, f"{name}.safetensors", "--models", models, says=[f"{name}.safetensors"])
        error = self.fails("variants", CHECKPOINT, "--lora", "torn", "--models", models, says=["torn.safetensors", "range leaves the file"])
        self.assertEqual(error["code"], "corrupt")


class Memory(ProgramCase):
    def test_a_summary_of_plan_and_account(self):
        text = self.demo("memory", "--lora", "style-night", "--memory-budget", "4M", "--pinned-budget", "1M").stdout
        self.assertRegex(text, r"(?m)^UNet +183 +\d+: [34]\.\d MiB +\d+: \d+\.\d MiB +- +\d+\.\d KiB +\d+$")
        self.assertRegex(text, r"(?m)^ *\d+\.\d [KM]iB  (resident|on demand) +UNet +diffusion_model\.\S+ +patched")
        self.assertRegex(text, r"(?m)^after loading: [34]\.\d MiB resident of a budget of 4\.0 MiB, at most 4\.\d MiB; ")
        self.assertRegex(text, rf"(?m)^ *\d+\.\d [KM]iB  resident +\d+  yes +{re.escape(CHECKPOINT)}  diffusion_model\.")
        self.assertIn("... 296 more (--all)", text)
        self.assertNotIn("more (--all)", self.demo("memory", "--all").stdout)

    def test_json_lists_every_module_and_entry(self):
        report = self.demo_json("memory", "--lora", "style-night", "--memory-budget", "4096K")
        self.assertEqual([(plan["part"], len(plan["modules"])) for plan in report["plan"]], [("text_encoder", 35), ("vae", 88), ("unet", 183)])
        unet = report["plan"][2]
        for place, total in (("resident", "resident_bytes"), ("on demand", "on_demand_bytes")):
            self.assertEqual(sum(module["bytes"] for module in unet["modules"] if module["place"] == place), unet[total])
        memory = report["memory"]
        self.assertEqual(memory["budget_bytes"], 4 << 20)
        self.assertLessEqual(memory["resident_bytes"], 4 << 20)
        self.assertEqual(sum(entry["bytes"] for entry in memory["entries"]), memory["resident_bytes"])
        self.assertEqual(set(memory["entries"][0]), {"owner", "module", "tier", "bytes", "in_use", "last_use"})

    def test_the_apply_mode_decides_where_patches_go(self):
        def unet(mode):
            report = self.demo_json("memory", "--lora", "style-night", "--lora-apply-mode", mode)
            modules = report["plan"][2]["modules"]
            return (report["lora_apply_mode"], sum(module["patched"] for module in modules), sum(module["branches"] for module in modules),
                    sum(module["patches_in_forward"] for module in modules))

        self.assertEqual(unet("materialised"), ("materialised", 117, 0, 0))
        self.assertEqual(unet("immediately"), ("materialised", 117, 0, 0))
        self.assertEqual(unet("branch"), ("branch", 0, 117, 0))
        self.assertEqual(unet("at_runtime"), ("branch", 0, 117, 0))
        self.assertEqual(unet("on-demand"), ("on-demand", 117, 0, 117))

    def test_wrong_flags_name_what_is_allowed(self):
        for size in ("-1", "-1G", "1.5G", "1GB", "lots", "18446744073709551616", "17179869184G", ""):
            for flag in ("--memory-budget", "--pinned-budget"):
                with self.subTest((flag, size)):
                    self.fails("memory", CHECKPOINT, flag, size, says=[flag, "allowed: ", "4096M, 4GiB", "veneer memory --help"], code=2)
        self.fails("memory", CHECKPOINT, "--pinned-budget", "auto", says=["not a size: auto"], code=2)
        for flag, says in (("--lora-apply-mode", "{auto,materialised,branch,on-demand}"), ("--residency", "{classic,dynamic}"),
                           ("--patch-compat", "{standard,reference}")):
            self.fails("run", "x.json", flag, "sometimes", says=[flag, "sometimes", says], code=2)

    def draw(self, *arguments):
        """The picture's bytes and the account."""
        run = self.veneer("txt2img", "-m", CHECKPOINT, "-p", "a moon", "--lora", "style-night:0.7", "--steps", 2, "-W", 64, "-H", 64, "--models",
                          cli_test.SOURCE / "models/demo", "--output", self.output, "--dtype", "f32", "--json", *arguments, code=0)
        self.assertEqual(run.stderr, "")
        result = json.loads(run.stdout)
        return pathlib.Path(result["images"][0]["path"]).read_bytes(), result["memory"]

    def test_budgets_change_memory_and_not_the_picture(self):
        picture, memory = self.draw()
        self.assertEqual(set(memory), {"peak_resident_bytes", "resident_bytes", "budget_bytes", "pinned_bytes", "pinned_budget_bytes", "notice"})
        self.assertGreater(memory["peak_resident_bytes"], 8 << 20)
        self.assertEqual(memory["notice"], "")
        for arguments, most in ((("--memory-budget", "auto"), None), (("--memory-budget", "0"), 2 << 20), (("--memory-budget", "4MiB"), 6 << 20),
                                (("--memory-budget", "4MiB", "--residency", "dynamic"), 6 << 20), (("--lora-apply-mode", "on-demand"), None)):
            with self.subTest(arguments):
                other, memory = self.draw(*arguments)
                self.assertEqual(other, picture)
                if most:
                    self.assertLessEqual(memory["peak_resident_bytes"], most)

    def test_memory_that_may_not_be_pinned_is_told_once(self):
        arguments = [cli_test.PROGRAM, "run", self.workflow(small_workflow()), "--models", cli_test.SOURCE / "models/demo", "--output", self.output,
                     "--memory-budget", "1M", "--pinned-budget", "8M"]
        run = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=TIMEOUT, preexec_fn=refuse_pinning)
        self.assertEqual(run.returncode, 0, run.stderr)
        notes = [line for line in run.stderr.splitlines() if "pinned" in line]
        self.assertEqual(len(notes), 1, run.stderr)
        self.assertTrue(notes[0].startswith("note: "))
        run = subprocess.run([*map(str, arguments), "--json"], capture_output=True, text=True, timeout=TIMEOUT, preexec_fn=refuse_pinning)
        self.assertEqual(run.stderr, "")
        self.assertIn("pinned", json.loads(run.stdout)["memory"]["notice"])


class Verify(ProgramCase):
    def test_a_model_is_equal_to_its_file(self):
        text = self.demo("verify").stdout
        self.assertRegex(text, r"(?m)^UNet +324 +9\.0 MiB +[0-9a-f]{64}  equal$")
        self.assertIn("\nequal: all 568 tensors in memory are those of the file\n", text)
        report = self.demo_json("verify")
        self.assertTrue(report["ok"])
        for part in report["parts"]:
            self.assertEqual(part["file_sha256"], part["memory_sha256"])
            self.assertEqual((part["different"], part["not_compared"]), ([], []))

    def test_a_workflow_leaves_the_model_as_it_was(self):
        arguments = ("--after", self.workflow(small_workflow()), "--output", self.output)
        self.assertIn("\nunchanged: ", self.demo("verify", *arguments).stdout)
        report = self.demo_json("verify", *arguments)
        self.assertEqual([part["changed"] for part in report["parts"]], [False, False, False])
        self.assertTrue(pathlib.Path(report["after"]["images"][0]).is_file())

    def test_a_workflow_that_fails_is_an_error_beside_the_verdict(self):
        workflow = small_workflow()
        workflow["5"]["inputs"]["steps"] = 0
        run = self.demo("verify", "--after", self.workflow(workflow), code=1)
        self.assertIn("\nnot known: ", run.stdout)
        self.assertNotIn("unchanged: ", run.stdout)
        self.assertIn("error: ", run.stderr)
        self.assertIn("node: 5", run.stderr)
        report = json.loads(self.demo("verify", "--after", self.workflow(workflow), "--json", code=1).stdout)
        self.assertEqual(report["error"]["context"]["node"], "5")
        self.assertEqual((report["ok"], report["after"]["finished"]), (False, False))
        self.fails("verify", CHECKPOINT, "--after", "nope.json", "--models", cli_test.SOURCE / "models/demo", says=["file: nope.json"])

    def while_it_samples(self, change):
        """Calls `change` while the workflow of `verify --after` runs. Returns exit code and text."""
        workflow = small_workflow()
        workflow["5"]["inputs"]["steps"] = 200
        models = self.own_models()
        arguments = [cli_test.PROGRAM, "verify", CHECKPOINT, "--after", self.workflow(workflow), "--models", models, "--output", self.output]
        terminal, other_end = pty.openpty()
        self.addCleanup(os.close, terminal)
        with subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, stderr=other_end, text=True) as process:
            os.close(other_end)
            seen = b""
            while b"/200" not in seen:
                seen += os.read(terminal, 4096)
            process.send_signal(signal.SIGSTOP)
            change(models / "checkpoints" / CHECKPOINT)
            process.send_signal(signal.SIGCONT)
            try:
                while os.read(terminal, 4096):
                    pass
            except OSError:  # the other end is closed
                pass
            text = process.stdout.read()
            process.wait(TIMEOUT)
        return process.returncode, text

    def test_weights_that_change_while_a_workflow_runs_are_found(self):
        def flip_the_last_bit(path):
            with open(path, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                last = file.read(1)[0] ^ 1
                file.seek(-1, os.SEEK_END)
                file.write(bytes([last]))

        code, text = self.while_it_samples(flip_the_last_bit)
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"(?m)^changed: while .* ran, weights in memory became others: ")

    def test_tensors_that_the_file_no_longer_has_are_listed(self):
        def replace(path):
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            other = path.with_suffix(".new")
            other.write_bytes(data)
            other.rename(path)

        code, text = self.while_it_samples(replace)
        self.assertEqual(code, 1, text)
        self.assertIn("different tensors:\n", text)
        self.assertRegex(text, r"(?m)^    file    [0-9a-f]{64}  \S+\n    memory  [0-9a-f]{64}$")
        self.assertIn("different: 1 tensor in memory is not what the file holds\n", text)
        self.assertIn("unchanged: ", text)


if __name__ == "__main__":
    cli_test.PROGRAM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
