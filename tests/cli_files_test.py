#!/usr/bin/env python3
"""Runs the program's commands about model files as a user does: compare and convert.

usage: cli_files_test.py PROGRAM SOURCE_FOLDER [unittest arguments]"""
import hashlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time
import unittest

import cli_test


class ModelFiles(unittest.TestCase):
    setUp = cli_test.CommandLine.setUp
    veneer = cli_test.CommandLine.veneer

    @property
    def demo(self):
        return cli_test.SOURCE / "models/demo/checkpoints" / cli_test.CHECKPOINT

    def sample(self, name):
        return cli_test.SOURCE / "tests/files/formats" / name

    def convert(self, source, target, *arguments, code=0):
        return self.veneer("convert", source, self.folder / target, *arguments, code=code)

    def compare_json(self, a, b, code=0):
        run = self.veneer("compare", a, b, "--json", code=code)
        self.assertEqual(run.stderr, "")
        return json.loads(run.stdout)

    def header(self, file):
        with open(file, "rb") as opened:
            return json.loads(opened.read(struct.unpack("<Q", opened.read(8))[0]))

    def test_a_torch_checkpoint_becomes_safetensors_with_equal_tensors(self):
        out = self.convert(self.sample("torch.ckpt"), "out.safetensors").stdout
        self.assertIn("torch zip -> safetensors", out)
        result = self.compare_json(self.sample("torch.safetensors"), self.folder / "out.safetensors")
        self.assertTrue(result["same_tensors"])
        self.assertEqual(result["counts"], {"equal": 17, "same_values": 0, "different": 0, "missing": 0, "extra": 0})
        self.assertEqual(result["tensors"][0]["a"]["sha256"], result["tensors"][0]["b"]["sha256"])

    def test_a_file_that_may_not_grow_is_an_error_and_leaves_nothing(self):
        target = self.folder / "out.safetensors"
        limited = f"ulimit -f 100; exec {cli_test.PROGRAM} convert {self.demo} {target}"
        run = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("File too large", run.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_compare_tells_what_differs_and_by_how_much(self):
        self.convert(self.demo, "q8.gguf", "--quantise", "q8_0")
        result = self.compare_json(self.demo, self.folder / "q8.gguf", code=1)
        self.assertFalse(result["equal"])
        self.assertGreater(result["counts"]["different"], 50)
        different = [tensor for tensor in result["tensors"] if tensor["state"] == "different"]
        for tensor in different:
            self.assertEqual(tensor["b"]["dtype"], "q8_0")
            self.assertGreater(tensor["largest_absolute_difference"], 0)
            self.assertLess(tensor["largest_absolute_difference"], 0.05)
        text = self.veneer("compare", self.demo, self.folder / "q8.gguf", code=1).stdout
        self.assertIn("(--all)", text)
        self.assertIn(" different, 0 missing, 0 extra", text)

    def test_convert_tells_hashes_that_others_can_check(self):
        report = json.loads(self.convert(self.demo, "half.safetensors", "--dtype", "bf16", "--json").stdout)
        self.assertEqual(report["source_sha256"], hashlib.sha256(self.demo.read_bytes()).hexdigest())
        content = (self.folder / "half.safetensors").read_bytes()
        body = content[8 + struct.unpack("<Q", content[:8])[0]:]
        self.assertEqual(report["tensors_sha256"], hashlib.sha256(body).hexdigest())
        metadata = self.header(self.folder / "half.safetensors")["__metadata__"]
        self.assertEqual(metadata["veneer.source_sha256"], report["source_sha256"])
        self.assertEqual(metadata["veneer.tensors_sha256"], report["tensors_sha256"])

    def test_a_part_is_loaded_from_a_file_of_its_own(self):
        (self.folder / "models/vae").mkdir(parents=True)
        self.convert(self.demo, "models/vae/demo-vae.safetensors", "--extract", "vae")
        names = self.header(self.folder / "models/vae/demo-vae.safetensors")
        self.assertIn("decoder.conv_in.weight", names)
        result = self.compare_json(self.demo, self.folder / "models/vae/demo-vae.safetensors", code=1)
        self.assertEqual(result["a"]["prefix"], "first_stage_model.")
        self.assertEqual(result["counts"]["extra"], 0)
        self.assertEqual(result["counts"]["equal"], len(names) - 1)

    def test_what_is_wrong_is_told_with_what_is_allowed(self):
        self.assertIn("f8_e5m2", self.convert(self.demo, "x.safetensors", "--dtype", "int4", code=1).stderr)
        self.assertIn("unet, vae, clip", self.convert(self.demo, "x.safetensors", "--extract", "lora", code=1).stderr)
        self.assertIn("SHA-256", self.convert(self.demo, "x.safetensors", "--sha256", "0" * 64, code=1).stderr)
        self.assertIn("truncated", self.veneer("compare", self.demo, self.empty(), code=1).stderr)
        refused = json.loads(self.veneer("compare", self.demo, self.sample("os_system.ckpt"), "--json", code=1).stdout)
        self.assertEqual(refused["error"]["context"]["global"], "posix.system")
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["empty.ckpt"])

    def empty(self):
        path = self.folder / "empty.ckpt"
        path.write_bytes(b"")
        return path

    def test_a_conversion_that_is_killed_leaves_the_target_absent_or_whole(self):
        target = self.folder / "killed.safetensors"
        arguments = [cli_test.PROGRAM, "convert", str(self.demo), str(target), "--dtype", "f32", "--replace"]
        start = time.monotonic()
        subprocess.run(arguments, check=True, capture_output=True, timeout=cli_test.TIMEOUT)
        whole, lasts = target.read_bytes(), time.monotonic() - start
        absent = 0
        for i in range(12):
            target.unlink(missing_ok=True)
            process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(lasts * (i + 1) / 14)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if target.exists():
                self.assertEqual(target.read_bytes(), whole)
            else:
                absent += 1
        self.assertGreater(absent, 0)


if __name__ == "__main__":
    cli_test.PROGRAM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
