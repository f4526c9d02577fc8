#!/usr/bin/env python3
"""Models in shards, checksums in headers, embeddings and editors' lists of models; and what users of other programs suffered from, through the command line.

usage: cli_models_test.py VENEER SOURCE_DIR [unittest arguments]
"""
import hashlib
import json
import os
import pathlib
import pickle
import shutil
import struct
import sys
import unittest
import zipfile

import cli_workflow_test
from cli_workflow_test import CHECKPOINT, safetensors

NAME = "demo.safetensors.index.json"


def read(path):
    """Header and data of a safetensors file."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8:8 + size]), content[8 + size:]


def shard(source, folder, index=NAME, count=2):
    """Writes the file as an index and shards; returns the index."""
    header, data = read(source)
    header.pop("__metadata__", None)
    stem, weights = index.removesuffix(".safetensors.index.json"), {}
    for part in range(count):
        name = f"{stem}-{part + 1:05}-of-{count:05}.safetensors"
        out, body = {}, b""
        for tensor in list(header)[part::count]:
            begin, end = header[tensor]["data_offsets"]
            out[tensor] = dict(header[tensor], data_offsets=[len(body), len(body) + end - begin])
            body += data[begin:end]
            weights[tensor] = name
        text = json.dumps(out).encode()
        (folder / name).write_bytes(struct.pack("<Q", len(text)) + text + body)
    (folder / index).write_text(json.dumps({"metadata": {"total_size": len(data)}, "weight_map": weights}))
    return folder / index


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def model_hash(index):
    """As docs/formats/safetensors.md defines it."""
    names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    lines = f"{sha256(index)}  -\n" + "".join(f"{sha256(index.parent / name)}  {name}\n" for name in names)
    return hashlib.sha256(lines.encode()).hexdigest()


class Base(unittest.TestCase):
    setUp = cli_workflow_test.WorkflowCommands.setUp
    veneer = cli_workflow_test.WorkflowCommands.veneer
    with_models = cli_workflow_test.WorkflowCommands.with_models
    report = cli_workflow_test.WorkflowCommands.report
    workflow = cli_workflow_test.WorkflowCommands.workflow
    node_of = staticmethod(cli_workflow_test.WorkflowCommands.node_of)
    rules = staticmethod(cli_workflow_test.WorkflowCommands.rules)

    @property
    def checkpoints(self):
        return self.models / "checkpoints"

    def small(self, model=CHECKPOINT, text="a red circle"):
        """A workflow that draws one small picture."""
        return {"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": model}},
                "2": {"class_type": "CLIPTextEncode", "inputs": {"text": text, "clip": ["1", 1]}},
                "3": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
                "4": {"class_type": "KSampler", "inputs": {"model": ["1", 0], "positive": ["2", 0], "negative": ["2", 0], "latent_image": ["3", 0], "seed": 1,
                                                           "steps": 1, "cfg": 1.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0}},
                "5": {"class_type": "VAEDecode", "inputs": {"samples": ["4", 0], "vae": ["1", 2]}},
                "6": {"class_type": "SaveImage", "inputs": {"images": ["5", 0], "filename_prefix": "x"}}}

    def write(self, name, workflow):
        (self.folder / name).write_text(json.dumps(workflow))
        return self.folder / name

    def pixels(self, workflow):
        out = self.with_models("run", self.write("w.json", workflow), "--dtype", "f32", "--output", self.folder / "out", "--json").stdout
        return cli_workflow_test.pixels((self.folder / json.loads(out)["images"][0]["path"]).read_bytes())

    def verified(self, *arguments, code=0):
        rows = json.loads(self.with_models("models", "verify", *arguments, "--json", code=code).stdout)
        return {row["name"]: row for row in rows}


class Shards(Base):
    def setUp(self):
        super().setUp()
        self.index = shard(self.checkpoints / CHECKPOINT, self.checkpoints)
        self.parts = sorted(self.checkpoints.glob("demo-*"))

    def test_the_model_is_the_index(self):
        listed = json.loads(self.with_models("models", "list", "--kind", "checkpoints", "--json").stdout)
        self.assertEqual([model["name"] for model in listed], [NAME, CHECKPOINT])
        size = sum(path.stat().st_size for path in [self.index, *self.parts])
        self.assertEqual((listed[0]["size"], listed[0]["family"], listed[0]["tensors"]), (size, "sd1", listed[1]["tensors"]))
        row = self.verified()[NAME]
        self.assertEqual((row["sha256"], row["cache_key"], row["problem"]), (model_hash(self.index), "demo-" + model_hash(self.index)[:16], ""))
        shown = json.loads(self.with_models("models", "show", NAME, "--json").stdout)
        self.assertEqual((shown["sha256"], shown["size"], shown["format"]), (model_hash(self.index), size, "sharded safetensors"))
        self.assertEqual(pathlib.Path(row["link"]).resolve(), self.index.resolve())
        self.veneer("compare", row["link"], self.checkpoints / CHECKPOINT)

    def test_it_is_run_by_name_hash_and_key(self):
        key = self.verified()[NAME]["cache_key"]
        want = self.pixels(self.small())
        for reference in (NAME, "sha256:" + model_hash(self.index), key):
            self.assertEqual(self.pixels(self.small(reference)), want, reference)
        self.assertIn("equal", self.with_models("verify", NAME).stdout)

    def test_a_shard_that_is_missing_changed_or_left_over_is_named(self):
        workflow = self.write("w.json", self.small(NAME))
        self.with_models("lock", workflow)
        locked = json.loads((self.folder / "w.lock.json").read_text())["models"][0]
        self.assertEqual([file["name"] for file in locked["files"]], [NAME, *(part.name for part in self.parts)])
        self.with_models("lock", workflow, "--check", "w.lock.json")

        def checked():
            return self.with_models("lock", workflow, "--check", "w.lock.json", code=1).stdout

        content = self.parts[1].read_bytes()
        self.parts[1].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        self.assertIn(self.parts[1].name + " has another content", checked())
        self.parts[1].unlink()
        self.assertIn(self.parts[1].name, checked())
        self.assertIn(self.parts[1].name, self.verified(NAME, code=1)[NAME]["problem"])
        self.assertIn(self.parts[1].name, self.with_models("run", workflow, code=1).stderr)
        self.assertIn(self.parts[1].name, json.dumps(self.report(self.small(NAME))))
        self.parts[1].write_bytes(content)
        self.verified(NAME)
        extra = self.checkpoints / "demo-00003-of-00003.safetensors"
        shutil.copy(self.parts[0], extra)
        self.assertIn(extra.name, self.verified(NAME, code=1)[NAME]["problem"])

    def test_a_changed_shard_is_another_model(self):
        before = self.verified(NAME)[NAME]["sha256"]
        content = self.parts[0].read_bytes()
        self.parts[0].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        self.assertEqual(json.loads(self.with_models("models", "show", NAME, "--json").stdout)["sha256"], "")
        after = self.verified(NAME)[NAME]
        self.assertNotEqual(after["sha256"], before)
        self.assertEqual(after["sha256"], model_hash(self.index))
        self.with_models("models", "show", "sha256:" + before, code=1)

    def test_add_takes_all_of_it_or_nothing(self):
        other = self.folder / "other"
        for arguments in ([], ["--link"]):
            shutil.rmtree(other, ignore_errors=True)
            (other / "models/checkpoints").mkdir(parents=True)
            self.veneer("models", "add", self.index, "--id", "maker/demo@v1", "--models", other / "models", *arguments)
            target = other / "models/checkpoints/maker/demo@v1"
            self.assertEqual(sorted(path.name for path in target.iterdir()), sorted([NAME, *(part.name for part in self.parts)]))
            self.assertEqual(target.joinpath(NAME).is_symlink(), bool(arguments))
            row = json.loads(self.veneer("models", "verify", "maker/demo@v1", "--json", "--models", other / "models").stdout)[0]
            self.assertEqual(row["sha256"], model_hash(self.index))
            self.veneer("models", "add", self.index, "--id", "maker/demo@v1", "--models", other / "models", *arguments)  # is there already
        shutil.rmtree(other)
        (other / "models/checkpoints").mkdir(parents=True)
        (other / "models/checkpoints" / self.parts[1].name).write_bytes(b"mine")
        refused = self.veneer("models", "add", self.index, "--models", other / "models", code=1).stderr
        self.assertIn(self.parts[1].name, refused)
        self.assertEqual([path.name for path in (other / "models/checkpoints").iterdir()], [self.parts[1].name])
        self.assertIn("--name", self.veneer("models", "add", self.index, "--name", "x.safetensors", "--models", other / "models", code=1).stderr)

    def test_one_file_again_with_the_hash_of_all(self):
        self.veneer("convert", self.index, "one.safetensors", "--sha256", model_hash(self.index))
        self.veneer("compare", "one.safetensors", self.checkpoints / CHECKPOINT)

    def test_shards_are_written(self):
        target = self.checkpoints / "new.safetensors.index.json"
        arguments = ["convert", self.checkpoints / CHECKPOINT, target, "--shard-size", "12M", "--json"]
        report = json.loads(self.veneer(*arguments).stdout)
        shards = sorted(self.checkpoints.glob("new-*"))
        self.assertEqual([path.name for path in shards], [f"new-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))])
        self.assertGreater(len(shards), 2)
        self.assertEqual((report["target_format"], report["target_bytes"]),
                         ("sharded safetensors", sum(path.stat().st_size for path in [target, *shards])))
        self.veneer("compare", target, self.checkpoints / CHECKPOINT)
        self.assertEqual(self.verified(target.name)[target.name]["problem"], "")
        self.assertIn("target exists", self.veneer(*arguments, code=1).stdout)
        target.unlink()
        self.assertIn(shards[0].name, self.veneer(*arguments, code=1).stdout)
        self.veneer(*arguments, "--replace")
        self.veneer("compare", target, self.checkpoints / CHECKPOINT)
        self.assertIn("part of the source", self.veneer("convert", target, target, "--replace", code=1).stderr)
        self.veneer("convert", self.checkpoints / CHECKPOINT, "x.safetensors", "--shard-size", "1M", code=1)
        self.assertEqual(list(self.checkpoints.glob("*.tmp")), [])

    def test_a_broken_index_is_told_in_its_row(self):
        self.index.write_text(self.index.read_text()[:-20])
        rows = self.verified(code=1)
        self.assertIn("weight_map", rows[NAME]["problem"])
        self.assertIn("demo-00001-of-00002.safetensors", rows)  # no model's part now
        self.index.write_text("{}")
        self.with_models("models", "list", "--long")
        self.assertIn("weight_map", self.with_models("run", self.write("w.json", self.small(NAME)), code=1).stderr)


class Checksums(Base):
    def test_tensors_are_held_to_what_their_header_tells(self):
        target = self.checkpoints / "again.safetensors"
        self.veneer("convert", self.checkpoints / CHECKPOINT, target)
        self.assertEqual(self.verified()["again.safetensors"]["problem"], "")
        self.with_models("verify", "again.safetensors")
        content = bytearray(target.read_bytes())
        content[-1] ^= 1
        target.write_bytes(content)
        for _ in range(2):  # also when the hash is known
            row = self.verified(code=1)["again.safetensors"]
            self.assertIn("header tells", row["problem"])
            self.assertEqual((row["sha256"], row["link"]), (sha256(target), ""))
        out = self.with_models("verify", "again.safetensors", code=1).stdout
        self.assertIn("broken: the tensors of", out)
        self.assertIn("told", json.loads(self.with_models("verify", "again.safetensors", "--json", code=1).stdout)["broken_checksum"])
        self.assertIn("header tells", self.veneer("convert", target, "x.gguf", code=1).stderr)


class KBlocks(Base):
    def test_blocks_of_256_are_written(self):
        source = self.folder / "m.safetensors"
        values = [((i * 7919) % 1000 - 500) / 4000 for i in range(4 * 512)]
        header = {"a.weight": {"dtype": "F32", "shape": [4, 512], "data_offsets": [0, 8192]},
                  "b.weight": {"dtype": "F32", "shape": [2, 32], "data_offsets": [8192, 8448]},
                  "c.bias": {"dtype": "F32", "shape": [256], "data_offsets": [8448, 9472]}}
        text = json.dumps(header).encode()
        source.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<2368f", *values, *values[:64], *values[:256]))
        for blocks, small, bound in (("q6_k", "q8_0", 0.005), ("q5_k", "q5_1", 0.01), ("q4_k", "q4_1", 0.02), ("q3_k", "q4_0", 0.05), ("q2_k", "q4_0", 0.09)):
            target = self.folder / f"{blocks}.gguf"
            self.veneer("convert", source, target, "--quantise", blocks)
            tensors = {tensor["name"]: tensor for tensor in json.loads(self.veneer("compare", source, target, "--json", code=1).stdout)["tensors"]}
            self.assertEqual([tensors[name]["b"]["dtype"] for name in ("a.weight", "b.weight", "c.bias")], [blocks, small, "f32"])
            self.assertLess(tensors["a.weight"]["largest_absolute_difference"], bound)
            self.package_reads(target, values, bound)

    def package_reads(self, path, values, bound):
        """The package gguf, where it is, reads the values that were meant."""
        try:
            import gguf
        except ImportError:
            self.skipTest("the package gguf is not installed: what it reads is not compared")
        tensor = next(t for t in gguf.GGUFReader(path).tensors if t.name == "a.weight")
        read_back = gguf.dequantize(tensor.data, tensor.tensor_type).reshape(-1)
        self.assertLess(max(abs(float(a) - b) for a, b in zip(read_back, values)), bound)


class Embeddings(Base):
    def add(self, name, width, key="emb_params"):
        folder = self.models / "embeddings"
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(safetensors({key: (2, width)}))

    def findings(self, text, code=1):
        found = self.report(self.small(text=text), code=code)["findings"]
        return [(f["node"], f["input"], f["rule"], f["value"], f["nearest"]) for f in found if f["severity"] != "note"]

    def test_prompts_are_held_to_the_embeddings_that_are_here(self):
        self.add("style.safetensors", 128)
        self.assertEqual(self.findings("a (embedding:style:1.1), embedding:style,", code=0), [])
        self.assertEqual(self.findings("a embedding:styel moon"), [("2", "text", "embedding_not_found", "styel", ["style"])])
        self.assertEqual(self.findings("embedding:../../etc/passwd")[0][:3], ("2", "text", "embedding_not_found"))
        self.assertEqual(self.findings("a,embedding:styel", code=0), [])  # text, as the tokenizer sees it
        self.add("wide.safetensors", 200)
        finding = next(f for f in self.report(self.small(text="embedding:wide"))["findings"] if f["rule"] == "model_family")
        self.assertIn("200", finding["message"])
        self.assertIn("128", finding["message"])
        self.add("two.safetensors", 1024)
        finding = next(f for f in self.report(self.small(text="embedding:two"))["findings"] if f["rule"] == "model_family")
        self.assertEqual((finding["input"], finding["allowed"]), ("text", ["sd1"]))
        shutil.copy(self.models / "loras/style-night.safetensors", self.models / "embeddings/lora.safetensors")
        self.assertIn(("2", "text", "model_type"), self.rules(self.report(self.small(text="embedding:lora"))))

    def test_they_are_locked_and_shown(self):
        self.add("sub.safetensors", 128)
        workflow = self.write("w.json", self.small(text="embedding:sub moon"))
        self.with_models("lock", workflow)
        locked = {(m["kind"], m["name"]): m for m in json.loads((self.folder / "w.lock.json").read_text())["models"]}
        self.assertEqual(locked[("embeddings", "sub.safetensors")]["sha256"], sha256(self.models / "embeddings/sub.safetensors"))
        nodes = json.loads(self.with_models("dump-graph", workflow).stdout)["nodes"]
        models = next(node["models"] for node in nodes if node["id"] == "2")
        self.assertEqual([(m["kind"], m["reference"], m["name"]) for m in models], [("embeddings", "sub", "sub.safetensors")])
        self.add("sub.safetensors", 128, key="clip_l")
        self.assertIn("lock_", self.with_models("lock", workflow, "--check", "w.lock.json", code=1).stdout)
        (self.models / "embeddings/sub.safetensors").unlink()
        refused = self.with_models("lock", workflow, "-o", "x.json", code=1).stderr
        self.assertIn("does not exist", refused)
        self.assertIn("embedding_not_found", self.with_models("lock", workflow, "--check", "w.lock.json", code=1).stdout)


class EditorsModels(Base):
    def editor(self, **model):
        workflow = json.loads((cli_workflow_test.SOURCE / "tests/workflows/editor_lora.json").read_text())
        node = next(node for node in workflow["nodes"] if node["type"] == "CheckpointLoaderSimple")
        entry = {"name": CHECKPOINT, "url": "https://example.org/m.safetensors", "directory": "checkpoints", **model}
        node["properties"]["models"] = [entry]
        node["widgets_values"] = [entry["name"]]
        return workflow

    def rows(self, workflow, code, *arguments):
        return [(f["severity"], f["rule"]) for f in self.report(workflow, *arguments, code=code)["findings"] if f["rule"].startswith("model_")]

    def test_hashes_that_a_workflow_tells_are_compared(self):
        right = sha256(self.checkpoints / CHECKPOINT)
        self.assertEqual(self.rows(self.editor(), 0), [])
        self.assertEqual(self.rows(self.editor(hash=right.upper(), hash_type="SHA256"), 0), [])
        self.assertEqual(self.rows(self.editor(hash=right[:10], hash_type="AutoV2"), 0), [])
        wrong = self.editor(hash="0" * 64, hash_type="SHA256")
        self.assertEqual(self.rows(wrong, 1), [("error", "model_hash")])
        self.assertEqual(self.rows(wrong, 0, "--no-models"), [])
        self.assertEqual(self.rows(self.editor(hash="abc", hash_type="MD5"), 0), [("note", "model_hash_unknown")])
        self.assertEqual(self.rows(self.editor(hash=5, url=[1], directory=None), 0), [])

    def test_of_a_file_that_is_not_here_the_address_is_told(self):
        report = self.report(self.editor(name="elsewhere.safetensors"))
        note = next(f for f in report["findings"] if f["rule"] == "model_source")
        self.assertEqual((note["severity"], note["value"]), ("note", "elsewhere.safetensors"))
        self.assertIn("https://example.org/m.safetensors", note["message"])


class Demands(Base):
    """Rows of what users of other programs reported, with the results that they are owed."""

    def draws_afterwards(self):
        self.pixels(self.small())

    # github.com/leejet/stable-diffusion.cpp/issues/1396
    def test_a_file_whose_shape_and_offsets_disagree(self):
        header = b'{"weight": {"dtype": "F64", "shape": [4], "data_offsets": [0, 16]}}'
        disagree = struct.pack("<Q", len(header)) + header + bytes(16)
        self.assertEqual(len(disagree), 91)
        whole = (self.checkpoints / CHECKPOINT).read_bytes()
        end = b'{"weight":{"dtype":"F64","shape":[4],"data_offsets":[16,0]}}'
        overflow = b'{"weight":{"dtype":"F64","shape":[4294967296,4294967296,4],"data_offsets":[0,16]}}'
        cases = [(disagree, "weight"), (struct.pack("<Q", 1 << 63) + header + bytes(16), ""), (struct.pack("<Q", len(end)) + end + bytes(16), "weight"),
                 (struct.pack("<Q", len(overflow)) + overflow + bytes(16), "weight"), (whole[:len(whole) // 2], ".")]
        for content, tensor in cases:
            (self.checkpoints / "bad.safetensors").write_bytes(content)
            run = self.with_models("run", self.write("w.json", self.small("bad.safetensors")), "--json", code=1)
            error = json.loads(run.stdout)["error"]
            self.assertTrue(error["context"]["file"].endswith("bad.safetensors"), error)
            self.assertIn(tensor, error["context"].get("tensor", ""), error)
        self.draws_afterwards()

    # github.com/AUTOMATIC1111/stable-diffusion-webui/issues/5942
    def test_a_checkpoint_with_any_root_folder_loads_and_code_is_named(self):
        shutil.copy(cli_workflow_test.SOURCE / "tests/files/formats/my model.ckpt", self.checkpoints / "mine.ckpt")
        self.assertEqual(json.loads(self.with_models("models", "show", "mine.ckpt", "--json").stdout)["problem"], "")
        for name, target in (("os_system.ckpt", "posix.system"), ("unknown_callable.ckpt", ".")):
            shutil.copy(cli_workflow_test.SOURCE / "tests/files/formats" / name, self.checkpoints / name)
            error = json.loads(self.with_models("run", self.write("w.json", self.small(name)), "--json", code=1).stdout)["error"]
            self.assertIn(target, json.dumps(error))
        whole = (self.checkpoints / "mine.ckpt").read_bytes()
        for content in (b"", whole[:len(whole) // 2]):
            (self.checkpoints / "cut.ckpt").write_bytes(content)
            self.assertIn("truncated", self.with_models("run", self.write("w.json", self.small("cut.ckpt")), code=1).stderr)
        marker = self.folder / "executed"

        class Evil:
            def __reduce__(self):
                return os.system, (f"touch {marker}",)

        with zipfile.ZipFile(self.checkpoints / "evil.ckpt", "w") as archive:
            archive.writestr("my model/data.pkl", pickle.dumps({"a": Evil()}, protocol=2))
        self.assertIn("system", self.with_models("run", self.write("w.json", self.small("evil.ckpt")), code=1).stderr)
        self.assertFalse(marker.exists())
        self.draws_afterwards()

    # github.com/Comfy-Org/ComfyUI/issues/3343
    def test_names_with_either_slash_load_and_another_case_is_hinted_at(self):
        (self.checkpoints / "sub").mkdir()
        shutil.copy(self.checkpoints / CHECKPOINT, self.checkpoints / "sub/m.safetensors")
        want = self.pixels(self.small())
        self.assertEqual(self.pixels(self.small("sub\\m.safetensors")), want)
        self.assertEqual(self.pixels(self.small("sub/m.safetensors")), want)
        refused = self.with_models("run", self.write("w.json", self.small("SUB/m.safetensors")), code=1).stderr
        self.assertIn("nearest: sub/m.safetensors", refused)
        for name in ("..\\..\\etc\\passwd", "sub\\..\\..\\m.safetensors", "../m.safetensors", "..\\..\\etc"):
            for command in (["run"], ["validate"], ["lock", "-o", "x.json"]):
                self.with_models(*command, self.write("w.json", self.small(name)), code=1)

    # github.com/Comfy-Org/ComfyUI/issues/15473
    def test_what_the_editor_saves_runs_like_its_api_form(self):
        workflow = json.loads((cli_workflow_test.SOURCE / "tests/workflows/editor_reroutes_and_modes.json").read_text())
        modes = {node.get("mode", 0) for node in workflow["nodes"]}
        self.assertIn(4, modes, "one node is bypassed")
        self.assertTrue(any("widget" in slot for node in workflow["nodes"] for slot in node.get("inputs", [])), "one widget is an input")
        editor = self.write("editor.json", workflow)
        self.with_models("convert-workflow", editor, "-o", "api.json")

        def keys(path):
            return {node["id"]: node["signature"] for node in json.loads(self.with_models("dump-graph", path).stdout)["nodes"]}

        self.assertEqual(keys(editor), keys("api.json"))
        self.assertEqual(self.pixels(workflow), self.pixels(json.loads((self.folder / "api.json").read_text())))


if __name__ == "__main__":
    cli_workflow_test.PROGRAM, cli_workflow_test.SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
