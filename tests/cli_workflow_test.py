#!/usr/bin/env python3
"""The commands about workflows and model files: convert-workflow, validate, dump-graph, lock, models.

usage: cli_workflow_test.py VENEER SOURCE_DIR
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = SOURCE = None
TIMEOUT = 120
CHECKPOINT = "shapes-sd-tiny.safetensors"


def safetensors(tensors, metadata=None):
    """The bytes of a file with tensors of f16 zeros: name -> shape."""
    header, at = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, shape in tensors.items():
        size = 2
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "F16", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(at)


SDXL_LORA = {"lora_unet_a_attn2_to_k.lora_down.weight": (1, 2048), "lora_unet_a_attn2_to_k.lora_up.weight": (4, 1)}


class WorkflowCommands(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="veneer-workflow-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.models = self.folder / "models"
        shutil.copytree(SOURCE / "models/demo", self.models)

    def veneer(self, *arguments, code=0, stdin=None):
        command = [PROGRAM, *map(str, arguments)]
        environment = dict(os.environ, HOME=str(self.folder), XDG_CACHE_HOME=str(self.folder / "cache"))
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=self.folder, input=stdin, env=environment)
        self.assertEqual(run.returncode, code, f"{command}\n{run.stdout}\n{run.stderr}")
        return run

    def with_models(self, *arguments, **more):
        return self.veneer(*arguments, "--models", self.models, **more)

    def report(self, workflow, *arguments, code=1):
        path = self.folder / "workflow.json"
        path.write_text(workflow if isinstance(workflow, str) else json.dumps(workflow))
        return json.loads(self.with_models("validate", path, "--json", *arguments, code=code).stdout)

    def workflow(self):
        return json.loads((SOURCE / "workflows/lora_stack.json").read_text())

    @staticmethod
    def node_of(workflow, class_type):
        return next(id for id, node in workflow.items() if node["class_type"] == class_type)

    @staticmethod
    def rules(report):
        return {(f["node"], f["input"], f["rule"]) for f in report["findings"] if f["severity"] == "error"}

    # -- convert-workflow

    def test_the_editors_form_is_drawn_like_its_api_form(self):
        run = self.with_models("convert-workflow", SOURCE / "tests/workflows/editor_lora.json", "-o", "api.json")
        self.assertIn("8 nodes", run.stdout)
        pictures = []
        for workflow in (SOURCE / "tests/workflows/editor_lora.json", "api.json"):
            out = self.with_models("run", workflow, "--dtype", "f32", "--output", self.folder / "out", "--json").stdout
            pictures.append(json.loads(out)["images"][0]["path"])
        first, second = ((self.folder / picture).read_bytes() for picture in pictures)
        self.assertEqual(first.count(b"IDAT"), second.count(b"IDAT"))
        self.assertEqual(pixels(first), pixels(second))
        self.assertIn(b'"nodes"', first)  # the picture carries what the editor saved

    def test_reroutes_modes_and_primitives(self):
        out = self.with_models("convert-workflow", SOURCE / "tests/workflows/editor_reroutes_and_modes.json").stdout
        prompt = json.loads(out)
        self.assertEqual(sorted(prompt), sorted(["3", "4", "5", "6", "7", "8", "9"]))
        self.assertEqual(prompt["3"]["inputs"]["steps"], 4)
        self.assertEqual(prompt["3"]["inputs"]["model"], ["4", 0])
        self.assertEqual(prompt["6"]["inputs"]["clip"], ["4", 1])
        self.with_models("validate", SOURCE / "tests/workflows/editor_reroutes_and_modes.json")

    def test_subgraphs_within_subgraphs(self):
        prompt = json.loads(self.with_models("convert-workflow", SOURCE / "tests/workflows/editor_subgraphs.json").stdout)
        self.assertEqual(prompt["20:1:1"]["inputs"], {"text": "a red circle", "clip": ["4", 1]})
        self.assertEqual(prompt["21:1:1"]["inputs"]["text"], "a blue triangle")
        self.assertEqual(prompt["21:3"]["inputs"]["seed"], 12)
        self.assertEqual(prompt["19"]["inputs"]["images"], ["21:4", 0])
        out = self.with_models("run", SOURCE / "tests/workflows/editor_subgraphs.json", "--output", self.folder / "out", "--json").stdout
        self.assertEqual(len(json.loads(out)["images"]), 2)

    def test_what_cannot_be_converted_is_named_and_the_code_is_1(self):
        run = self.with_models("convert-workflow", SOURCE / "tests/workflows/editor_from_windows.json", "--json", code=1)
        converted = json.loads(run.stdout)
        self.assertEqual(converted["prompt"]["30"]["inputs"], {"factor": 2.0, "image": ["8", 0]})
        self.assertEqual([f["rule"] for f in converted["findings"]], ["unknown_class"])
        self.with_models("convert-workflow", "-", code=2, stdin="{}")

    # -- validate

    def test_every_example_is_valid(self):
        for path in sorted((SOURCE / "workflows").glob("*.json")):
            # Pictures that an example reads are made by others.
            run = subprocess.run([PROGRAM, "validate", path, "--json", "--models", self.models, "--cache", ""], capture_output=True, text=True, timeout=TIMEOUT)
            errors = [f for f in json.loads(run.stdout)["findings"] if f["severity"] == "error" and f["class_type"] != "LoadImage"]
            self.assertEqual(errors, [], path.name)

    def test_all_faults_are_told_at_once(self):
        workflow = self.workflow()
        sampler = self.node_of(workflow, "KSampler")
        loader = self.node_of(workflow, "CheckpointLoaderSimple")
        workflow[sampler]["inputs"].update({"steps": 0, "sampler_name": "eulr", "cfg": "high"})
        del workflow[sampler]["inputs"]["positive"]
        workflow[loader]["inputs"]["ckpt_name"] = "shapes.safetensors"
        workflow["99"] = {"class_type": "PreviewImag", "inputs": {"images": ["98", 0]}}
        report = self.report(workflow)
        self.assertLessEqual({(sampler, "steps", "value_smaller_than_min"), (sampler, "sampler_name", "value_not_in_list"),
                              (sampler, "cfg", "invalid_input_type"), (sampler, "positive", "required_input_missing"),
                              (loader, "ckpt_name", "value_not_in_list"), ("99", "", "unknown_class")}, self.rules(report))
        steps = next(f for f in report["findings"] if f["input"] == "steps")
        self.assertEqual((steps["value"], steps["allowed"]), (0, ["INT from 1 to 10000"]))
        self.assertIn("euler", next(f for f in report["findings"] if f["input"] == "sampler_name")["nearest"])
        self.assertEqual(next(f for f in report["findings"] if f["node"] == "99")["nearest"], ["PreviewImage"])

    def test_exit_codes(self):
        self.with_models("validate", SOURCE / "workflows/txt2img.json")
        self.with_models("--validate-workflow", SOURCE / "workflows/txt2img.json")
        self.with_models("validate", "-", stdin=(SOURCE / "workflows/txt2img.json").read_text())
        self.with_models("validate", "none.json", code=2)
        self.with_models("validate", "-", code=2, stdin="no json")
        self.with_models("validate", "-", code=1, stdin='{"1": {"class_type": "Nothing", "inputs": {}}}')
        self.with_models("validate", "-", code=1, stdin='{"1": 5}')

    def test_links_that_lead_nowhere_or_round(self):
        report = self.report({"1": {"class_type": "ImageInvert", "inputs": {"image": ["2", 0]}}, "2": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}},
                              "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}},
                              "4": {"class_type": "PreviewImage", "inputs": {"images": ["9", 0]}},
                              "5": {"class_type": "PreviewImage", "inputs": {"images": ["2", 7]}}})
        self.assertLessEqual({("4", "images", "broken_link"), ("5", "images", "broken_link")}, self.rules(report))
        self.assertIn("cycle", [f["rule"] for f in report["findings"]])

    def test_paths_of_one_machine_are_errors_that_name_the_file_here(self):
        workflow = self.workflow()
        loader = self.node_of(workflow, "CheckpointLoaderSimple")
        for path, rule in [("/home/user/models/checkpoints/" + CHECKPOINT, "absolute_path"), ("C:\\models\\" + CHECKPOINT, "drive_letter"),
                           ("~/models/" + CHECKPOINT, "home_folder"), ("../" + CHECKPOINT, "parent_folder"), (CHECKPOINT.upper(), "name_case")]:
            workflow[loader]["inputs"]["ckpt_name"] = path
            report = self.report(workflow)
            mine = [f for f in report["findings"] if f["node"] == loader and f["severity"] == "error"]
            self.assertEqual([f["rule"] for f in mine], [rule], path)
            self.assertEqual(mine[0]["nearest"], [CHECKPOINT], path)

    def test_folders_with_either_slash_are_the_same_file(self):
        (self.models / "loras/sub").mkdir()
        shutil.copy(self.models / "loras/style-night.safetensors", self.models / "loras/sub/m.safetensors")
        workflow = self.workflow()
        lora = self.node_of(workflow, "LoraLoader")
        workflow[lora]["inputs"]["lora_name"] = "sub/m.safetensors"
        self.assertTrue(self.report(workflow, code=0)["valid"])
        workflow[lora]["inputs"]["lora_name"] = "sub\\m.safetensors"
        report = self.report(workflow, code=0)
        self.assertEqual([(f["severity"], f["rule"]) for f in report["findings"]], [("warning", "backslash")])
        self.report(workflow, "--strict", code=1)
        workflow[lora]["inputs"]["lora_name"] = "SUB/m.safetensors"
        finding = self.report(workflow)["findings"][0]
        self.assertEqual((finding["rule"], finding["nearest"]), ("name_case", ["sub/m.safetensors"]))

    def test_an_adapter_of_another_family_is_an_error_along_the_graph(self):
        (self.models / "loras/xl.safetensors").write_bytes(safetensors(SDXL_LORA))
        workflow = self.workflow()
        loras = [id for id, node in workflow.items() if node["class_type"] == "LoraLoader"]
        workflow[loras[-1]]["inputs"]["lora_name"] = "xl.safetensors"
        finding = self.report(workflow)["findings"][0]
        self.assertEqual((finding["node"], finding["input"], finding["rule"]), (loras[-1], "lora_name", "model_family"))
        self.assertIn("sdxl", finding["message"])
        self.assertEqual(finding["allowed"], ["sd1"])

    def test_files_that_do_not_open_or_are_something_else(self):
        workflow = self.workflow()
        lora = self.node_of(workflow, "LoraLoader")
        (self.models / "loras/broken.safetensors").write_bytes(b"\xff" * 40)
        workflow[lora]["inputs"]["lora_name"] = "broken.safetensors"
        self.assertIn((lora, "lora_name", "model_unreadable"), self.rules(self.report(workflow)))
        shutil.copy(self.models / "checkpoints" / CHECKPOINT, self.models / "loras/whole.safetensors")
        workflow[lora]["inputs"]["lora_name"] = "whole.safetensors"
        self.assertIn((lora, "lora_name", "model_type"), self.rules(self.report(workflow)))
        self.assertNotIn((lora, "lora_name", "model_type"), self.rules(self.report(workflow, "--no-models", code=0)))

    def test_what_json_cannot_carry(self):
        text = json.dumps(self.workflow()).replace('"denoise": 1.0', '"denoise": NaN').replace('"denoise": 1', '"denoise": NaN')
        self.assertIn("not_json", {f["rule"] for f in self.report(text)["findings"]})
        workflow = self.workflow()
        sampler = self.node_of(workflow, "KSampler")
        workflow[sampler]["inputs"]["model"] = "<comfy.model_patcher.ModelPatcher object at 0x7f0c1c2b3d60>"
        self.assertIn((sampler, "model", "embedded_object"), self.rules(self.report(workflow)))

    def test_fix_writes_a_copy_that_is_valid(self):
        workflow = self.workflow()
        loader, lora = self.node_of(workflow, "CheckpointLoaderSimple"), self.node_of(workflow, "LoraLoader")
        workflow[loader]["inputs"]["ckpt_name"] = "/mnt/models/checkpoints/" + CHECKPOINT
        workflow[lora]["inputs"]["lora_name"] = "STYLE-NIGHT.safetensors"
        report = self.report(workflow, "--fix", self.folder / "fixed.json")
        self.assertEqual({f["nearest"][0] for f in report["changes"]}, {CHECKPOINT, "style-night.safetensors"})
        self.with_models("validate", "fixed.json", "--strict")
        self.with_models("validate", SOURCE / "tests/workflows/editor_from_windows.json", "--fix", "editor.json", code=1)
        fixed = json.loads((self.folder / "editor.json").read_text())
        values = {node["id"]: node.get("widgets_values") for node in fixed["nodes"]}
        self.assertEqual((values[4][0], values[10][0]), (CHECKPOINT, "style-night.safetensors"))

    def test_ten_thousand_nodes_in_one_chain(self):
        workflow = {str(i): {"class_type": "ImageInvert", "inputs": {"image": [str(i - 1), 0]}} for i in range(1, 10_000)}
        workflow["0"] = {"class_type": "EmptyImage", "inputs": {"width": 64, "height": 64, "batch_size": 1, "color": 0}}
        workflow["10000"] = {"class_type": "PreviewImage", "inputs": {"images": ["9999", 0]}}
        path = self.folder / "large.json"
        path.write_text(json.dumps(workflow))
        self.assertIn("10001 nodes", self.with_models("validate", path).stdout)

    # -- dump-graph

    def test_the_graph_in_order_of_execution(self):
        for spelling in ("dump-graph", "--dump-graph"):
            nodes = json.loads(self.with_models(spelling, SOURCE / "workflows/lora_stack.json").stdout)["nodes"]
            place = {node["id"]: i for i, node in enumerate(nodes)}
            for node in nodes:
                for source in node["depends_on"]:
                    self.assertLess(place[source], place[node["id"]])
            sampler = next(node for node in nodes if node["class_type"] == "KSampler")
            self.assertIn("seed", sampler["inputs"])
            loader = next(node for node in nodes if node["class_type"] == "CheckpointLoaderSimple")
            self.assertEqual(loader["models"][0]["file"], str(self.models / "checkpoints" / CHECKPOINT))
            self.assertEqual(len(sampler["signature"]), 32)

    def test_signatures_follow_what_a_result_depends_on(self):
        def signatures(seed):
            workflow = self.workflow()
            workflow[self.node_of(workflow, "KSampler")]["inputs"]["seed"] = seed
            out = self.with_models("dump-graph", "-", stdin=json.dumps(workflow)).stdout
            return {node["class_type"]: node["signature"] for node in json.loads(out)["nodes"]}

        one, same, other = signatures(1), signatures(1), signatures(2)
        self.assertEqual(one, same)
        self.assertEqual(one["CLIPTextEncode"], other["CLIPTextEncode"])
        self.assertNotEqual(one["KSampler"], other["KSampler"])
        self.assertNotEqual(one["VAEDecode"], other["VAEDecode"])

    def test_pictures_of_the_graph(self):
        import xml.etree.ElementTree as xml

        svg = self.with_models("dump-graph", SOURCE / "workflows/lora_stack.json", "--svg").stdout
        self.assertEqual(xml.fromstring(svg).tag, "{http://www.w3.org/2000/svg}svg")
        dot = self.with_models("dump-graph", SOURCE / "workflows/lora_stack.json", "--dot").stdout
        self.assertIn("digraph", dot)
        self.assertIn("KSampler", dot)

    def test_a_graph_with_unknown_classes_and_a_cycle_is_shown_as_far_as_it_goes(self):
        workflow = {"1": {"class_type": "Strange", "inputs": {"x": ["2", 0]}}, "2": {"class_type": "Strange", "inputs": {"x": ["1", 3]}},
                    "3": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}}
        nodes = json.loads(self.with_models("dump-graph", "-", stdin=json.dumps(workflow)).stdout)["nodes"]
        self.assertEqual({node["id"]: (node["known"], node["in_cycle"]) for node in nodes}, {"1": (False, True), "2": (False, True), "3": (True, False)})

    # -- lock

    def test_a_lock_tells_other_content_of_the_same_name(self):
        shutil.copy(SOURCE / "workflows/lora_stack.json", self.folder / "w.json")
        self.with_models("lock", "w.json")
        lock = json.loads((self.folder / "w.lock.json").read_text())
        for model in lock["models"]:
            content = (self.models / model["kind"] / model["name"]).read_bytes()
            self.assertEqual((model["size"], model["sha256"]), (len(content), hashlib.sha256(content).hexdigest()))
        self.assertIn("compared with its lock", self.with_models("validate", "w.json").stdout)
        self.with_models("lock", "w.json", "--check", "w.lock.json")
        path = self.models / "loras/style-night.safetensors"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        report = json.loads(self.with_models("validate", "w.json", "--json", code=1).stdout)
        self.assertIn("lock_hash", {f["rule"] for f in report["findings"]})
        self.assertIn("lock_hash", self.with_models("lock", "w.json", "--check", "w.lock.json", code=1).stdout)
        path.write_bytes(content + b"x")
        self.assertIn("lock_size", self.with_models("lock", "w.json", "--check", "w.lock.json", code=1).stdout)
        self.with_models("validate", "w.json", "--no-lock", "--no-models")
        (self.folder / "w.lock.json").write_text('{"veneer_lock": 1, "models": [{"kind": "loras"}]}')
        self.with_models("validate", "w.json", code=2)

    # -- models

    def test_verify_links_and_references(self):
        path = self.models / "checkpoints" / CHECKPOINT
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        verified = json.loads(self.with_models("models", "verify", CHECKPOINT, "--json").stdout)[0]
        key = "shapes-sd-tiny-" + digest[:16]
        self.assertEqual((verified["sha256"], verified["cache_key"], verified["was_known"]), (digest, key, False))
        self.assertEqual((self.folder / "cache/veneer/models" / key).resolve(), path.resolve())
        self.assertTrue(json.loads(self.with_models("models", "verify", CHECKPOINT, "--json").stdout)[0]["was_known"])
        workflow = json.loads((SOURCE / "workflows/txt2img.json").read_text())
        loader = self.node_of(workflow, "CheckpointLoaderSimple")
        for reference in (key, "sha256:" + digest):
            workflow[loader]["inputs"]["ckpt_name"] = reference
            report = self.report(workflow, code=0)
            self.assertEqual(report["models"][0]["name"], CHECKPOINT)
            self.with_models("run", self.folder / "workflow.json", "--set", self.node_of(workflow, "KSampler") + ".steps=1", "--output", self.folder / "out")
        workflow[loader]["inputs"]["ckpt_name"] = "sha256:" + "0" * 64
        self.assertIn((loader, "ckpt_name", "reference_not_found"), self.rules(self.report(workflow)))

    def test_versions_have_folders_of_their_own(self):
        for version in ("v1", "v2"):
            source = self.folder / version / "model.safetensors"
            source.parent.mkdir()
            source.write_bytes(safetensors(SDXL_LORA, {"version": version}))
            self.with_models("models", "add", source, "--id", f"maker/style@{version}")
        one = json.loads(self.with_models("models", "show", "maker/style@v1", "--json").stdout)
        two = json.loads(self.with_models("models", "show", "maker/style@v2", "--json").stdout)
        self.assertEqual(one["name"], "maker/style@v1/model.safetensors")
        self.assertEqual((two["metadata"]["version"], two["family"], two["type"]), ("v2", "sdxl", "lora"))
        self.assertNotEqual(one["cache_key"], two["cache_key"])
        self.with_models("models", "show", "maker/style@v3", code=1)

    def test_adding_another_file_under_a_name_that_is_taken(self):
        self.with_models("models", "add", self.models / "loras/style-night.safetensors", "--kind", "loras", "--name", "again.safetensors")
        self.with_models("models", "add", self.models / "loras/style-night.safetensors", "--kind", "loras", "--name", "again.safetensors")
        self.assertIn("another file has this name", self.with_models("models", "add", self.models / "loras/style-outline.safetensors", "--kind", "loras", "--name",
                                                                     "again.safetensors", code=1).stderr)
        self.assertIn(".safetensors", self.with_models("models", "add", self.models / "loras/style-outline.safetensors", "--name", "a.txt", code=1).stderr)

    def test_show_and_list_say_what_files_are(self):
        shown = self.with_models("models", "show", CHECKPOINT).stdout
        self.assertIn("Stable Diffusion 1.x", shown)
        self.assertIn("f16 x", shown)
        self.assertIn("LoRA", self.with_models("models", "list", "--kind", "loras", "--long").stdout)
        self.assertIn("style-night", self.with_models("models", "show", "style-nihgt.safetensors", code=1).stderr)

    def test_a_broken_index_is_told_and_does_no_harm(self):
        index = self.folder / "cache/veneer/hashes.sqlite"
        index.parent.mkdir(parents=True)
        index.write_bytes(b"x" * 5000)
        run = self.with_models("models", "verify", CHECKPOINT)
        self.assertIn(hashlib.sha256((self.models / "checkpoints" / CHECKPOINT).read_bytes()).hexdigest(), run.stdout)
        self.assertIn("hashes are not kept", run.stderr)

    def test_two_processes_verify_at_once(self):
        command = [PROGRAM, "models", "verify", "--models", str(self.models), "--cache", str(self.folder / "shared")]
        runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        outputs = []
        for run in runs:
            out, errors = run.communicate(timeout=TIMEOUT)
            self.assertEqual((run.returncode, errors), (0, ""))
            outputs.append(sorted(line.replace("  (known)", "") for line in out.splitlines()))
        self.assertEqual(outputs.count(outputs[0]), 4)

    def test_gc_forgets_what_is_gone(self):
        self.with_models("models", "verify", "--kind", "loras")
        (self.models / "loras/style-night.safetensors").unlink()
        self.assertEqual(json.loads(self.with_models("models", "gc", "--json").stdout), {"hashes": 1, "links": 1})

    def test_gc_without_a_readable_index_removes_nothing(self):
        self.with_models("models", "verify", CHECKPOINT)
        (self.folder / "cache/veneer/hashes.sqlite").write_bytes(b"x" * 5000)
        self.assertIn("nothing is removed", self.with_models("models", "gc", code=1).stderr)
        self.assertEqual(len(list((self.folder / "cache/veneer/models").iterdir())), 1)

    def test_an_odd_file_name_is_told_in_its_own_row(self):
        for name in ("a:0.5.safetensors", "back\\slash.safetensors"):
            (self.models / "loras" / name).write_bytes(safetensors(SDXL_LORA))
        for command, code in ((("list",), 0), (("list", "--long"), 0), (("verify",), 1)):
            rows = json.loads(self.with_models("models", *command, "--json", code=code).stdout)
            self.assertEqual(len(rows), 5)
            problems = {row["name"]: row["problem"] for row in rows if row["problem"]}
            self.assertEqual(set(problems), {"a:0.5.safetensors", "back\\slash.safetensors"})
            self.assertIn("drive letter", problems["a:0.5.safetensors"])
        self.assertIn("drive letter", self.with_models("models", "list").stdout)
        for name in ("a:0.5.safetensors", "back\\slash.safetensors", "../x.safetensors", "/x.safetensors"):
            self.with_models("models", "add", self.models / "loras/style-night.safetensors", "--name", name, code=1)

    def test_verify_tells_files_that_no_reader_takes(self):
        (self.models / "loras/broken.safetensors").write_bytes(b"x" * 100)
        rows = json.loads(self.with_models("models", "verify", "--json", code=1).stdout)
        self.assertEqual([row["name"] for row in rows if row["problem"]], ["broken.safetensors"])
        self.assertIn("safetensors", self.with_models("models", "add", self.models / "loras/broken.safetensors", "--kind", "vae", code=1).stderr)
        self.assertFalse((self.models / "vae/broken.safetensors").exists())

    def test_rehash_reads_what_is_known(self):
        self.with_models("models", "verify")
        import sqlite3
        with sqlite3.connect(self.folder / "cache/veneer/hashes.sqlite") as index:
            index.execute("UPDATE model_files SET sha256 = ? WHERE path LIKE '%night%'", ("0" * 64,))
        self.with_models("models", "verify")
        rows = json.loads(self.with_models("models", "verify", "--rehash", "--json", code=1).stdout)
        self.assertEqual([row["name"] for row in rows if row["problem"]], ["style-night.safetensors"])
        self.with_models("models", "verify", "--rehash")

    def test_verify_of_a_folder_without_models_names_the_folders_that_it_looks_for(self):
        (self.folder / "empty").mkdir()
        self.assertIn("empty/checkpoints", self.veneer("models", "verify", "--models", "empty", code=1).stderr)

    def test_an_id_has_one_file(self):
        night, outline = (self.models / f"loras/style-{name}.safetensors" for name in ("night", "outline"))
        self.with_models("models", "add", night, "--id", "maker/style@v1")
        self.assertIn("the id has another file", self.with_models("models", "add", outline, "--id", "maker/style@v1", code=1).stderr)
        self.with_models("models", "add", night, "--id", "maker/style@v1")
        self.with_models("models", "show", "maker/style@v1")

    # -- outputs, locks and messages

    def test_an_output_that_is_the_input_is_refused(self):
        path = self.folder / "a.json"
        content = (SOURCE / "workflows/lora_stack.json").read_bytes()
        path.write_bytes(content)
        (self.folder / "soft.json").symlink_to(path)
        os.link(path, self.folder / "hard.json")
        for output in ("a.json", "soft.json", "hard.json"):
            for command, code in ((("lock", path, "-o", output), 1), (("dump-graph", path, "-o", output), 1), (("convert-workflow", path, "-o", output), 2),
                                  (("validate", path, "--fix", output), 2)):
                self.assertIn("the output is the input", self.with_models(*command, code=code).stderr)
        self.assertEqual(path.read_bytes(), content)
        (self.folder / "a.json.part").write_bytes(content)
        self.with_models("convert-workflow", "a.json.part", "-o", "other.json")
        self.with_models("convert-workflow", "a.json.part", "-o", "a.json")
        self.assertEqual((self.folder / "a.json.part").read_bytes(), content)

    def test_errors_of_a_lock_name_the_lock(self):
        shutil.copy(SOURCE / "workflows/lora_stack.json", self.folder / "w.json")
        (self.folder / "text.json").write_text("{")
        (self.folder / "other.json").write_text("{}")
        (self.folder / "empty.json").write_text("")
        for lock in ("text.json", "other.json", "empty.json", "missing.json"):
            for command, code in ((("lock", "w.json", "--check", lock), 1), (("validate", "w.json", "--lock", lock), 2)):
                told = json.loads(self.with_models(*command, "--json", code=code).stdout)["error"]
                self.assertIn("lock", told["message"])
                self.assertIn(lock, told["context"].values())
                self.assertNotIn("w.json", told["context"].values())

    def test_messages_tell_what_is_allowed_and_no_empty_lines(self):
        self.assertIn("checkpoints", self.with_models("models", "list", "--kind", "lorax", code=1).stderr)
        self.assertNotIn("nearest", self.with_models("models", "show", "qqqqqqqqqqqqqqqqqqqq", code=1).stderr)
        told = self.veneer("models", "lst", code=2).stderr
        self.assertIn("no such command", told)
        self.assertIn("list, show, verify, add, gc", told)
        self.assertIn("a command is missing", self.veneer("models", code=2).stderr)
        self.assertIn("16 to 64 digits", self.with_models("models", "show", "sha256:12", code=1).stderr)
        for command in ("list", "show", "verify", "add", "gc"):
            self.assertIn("example: veneer models " + command, self.veneer("models", command, "--help").stdout)

    def test_interrupted_commands_leave_nothing_half_written(self):
        import signal
        import time
        big = self.folder / "big.safetensors"
        with big.open("wb") as out:
            out.write(safetensors({})[:8])
            header = json.dumps({"emb_params": {"dtype": "F16", "shape": [500_000, 768], "data_offsets": [0, 768_000_000]}}).encode()
            out.seek(0)
            out.write(len(header).to_bytes(8, "little") + header)
            out.truncate(8 + len(header) + 768_000_000)
        (self.folder / "out").mkdir()
        for command, where in ((["convert", big, self.folder / "out/x.safetensors", "--dtype", "f32"], self.folder / "out"),
                               (["models", "add", big, "--models", self.models], self.models / "embeddings")):
            process = subprocess.Popen([PROGRAM, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            end = time.monotonic() + TIMEOUT
            while process.poll() is None and not list(where.glob("*.tmp")) and time.monotonic() < end:
                time.sleep(0.005)
            process.send_signal(signal.SIGINT)
            self.assertIn("interrupted", process.communicate(timeout=TIMEOUT)[1])
            self.assertEqual(process.returncode, 1)
            self.assertEqual(list(where.iterdir()), [])

    def test_extra_model_paths(self):
        other = self.folder / "elsewhere/Lora"
        other.mkdir(parents=True)
        (other / "xl.safetensors").write_bytes(safetensors(SDXL_LORA))
        (self.folder / "extra.yaml").write_text(f"a111:\n    base_path: {self.folder}/elsewhere\n    loras: |\n        Lora\n")
        out = self.with_models("models", "show", "xl.safetensors", "--extra-model-paths", "extra.yaml", "--json").stdout
        self.assertEqual(json.loads(out)["family"], "sdxl")


def pixels(png):
    """The compressed picture data of a PNG."""
    at, out = 8, b""
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        if kind == b"IDAT":
            out += png[at + 8:at + 8 + size]
        at += 12 + size
    return out


if __name__ == "__main__":
    PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
