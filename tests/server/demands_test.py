"""What users of other servers suffered from: models that come and go, variants in any order, memory that climbs, names from another system."""

import json
import os
import shutil
import struct
import sys
import tempfile
import unittest
import zlib

from client import Server

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
DEMO = os.path.join(SOURCE, "models", "demo")
CHECKPOINT = os.path.join(DEMO, "checkpoints", "shapes-sd-tiny.safetensors")


def workflow(name, loras=(), seed=5, steps=2):
    """A picture of 64x64 by a checkpoint under LoRAs [(name, strength)]."""
    nodes = {"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": name}}}
    model, clip = ["1", 0], ["1", 1]
    for i, (lora, strength) in enumerate(loras):
        key = f"l{i}"
        nodes[key] = {"class_type": "LoraLoader", "inputs": {"model": model, "clip": clip, "lora_name": lora, "strength_model": strength,
                                                             "strength_clip": strength}}
        model, clip = [key, 0], [key, 1]
    nodes.update({
        "2": {"class_type": "CLIPTextEncode", "inputs": {"clip": clip, "text": "a red circle"}},
        "3": {"class_type": "CLIPTextEncode", "inputs": {"clip": clip, "text": ""}},
        "4": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
        "5": {"class_type": "KSampler", "inputs": {"model": model, "seed": seed, "steps": steps, "cfg": 5.0, "sampler_name": "euler", "scheduler": "normal",
                                                   "positive": ["2", 0], "negative": ["3", 0], "latent_image": ["4", 0], "denoise": 1.0}},
        "6": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["1", 2]}},
        "7": {"class_type": "SaveImage", "inputs": {"images": ["6", 0], "filename_prefix": "d"}}})
    return nodes


def pixel_data(picture):
    """The rows of a PNG as they are stored, filters included."""
    at, data = 8, b""
    while at < len(picture):
        size, kind = struct.unpack(">I4s", picture[at:at + 8])
        if kind == b"IDAT":
            data += picture[at + 8:at + 8 + size]
        at += 12 + size
    return zlib.decompress(data)


def other_checkpoint(source, target, value):
    """The same file with another bias of the network's last layer, in place of an earlier one at once."""
    with open(source, "rb") as file:
        data = bytearray(file.read())
    size = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + size])["model.diffusion_model.out.2.bias"]
    begin, end = (8 + size + offset for offset in entry["data_offsets"])
    data[begin:end] = struct.pack("<e", value) * ((end - begin) // 2)
    put(target, bytes(data))


def put(target, data):
    with open(target + ".part", "wb") as file:
        file.write(data)
    os.replace(target + ".part", target)


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class Demands(unittest.TestCase):
    def run_prompt(self, server, prompt):
        answer = server.post("/prompt", {"prompt": prompt})
        self.assertEqual(answer.status, 200, answer.body[:500])
        return server.wait(answer.json["prompt_id"], 120)

    def picture(self, server, prompt):
        entry = self.run_prompt(server, prompt)
        self.assertEqual(entry["status"]["status_str"], "success", json.dumps(entry["status"])[:800])
        image = entry["outputs"]["7"]["images"][0]
        pixels = pixel_data(server.get(f"/view?filename={image['filename']}&type={image['type']}&subfolder={image['subfolder']}").body)
        self.assertGreater(len(set(pixels)), 8, "a picture of one colour")
        return pixels

    def fresh_picture(self, models, prompt):
        with Server(PROGRAM, "models=" + models) as server:
            return self.picture(server, prompt)

    def folder(self, *kinds):
        made = tempfile.mkdtemp(prefix="veneer_models_")
        self.addCleanup(shutil.rmtree, made, True)
        for kind in kinds:
            os.makedirs(os.path.join(made, kind))
        return made

    def test_a_model_that_comes_is_seen_and_one_that_is_replaced_under_its_name_is_another(self):
        models = self.folder("checkpoints")
        file = os.path.join(models, "checkpoints", "m.safetensors")
        prompt = workflow("m.safetensors")
        with Server(PROGRAM, "models=" + models) as server:
            self.assertEqual(server.get("/models/checkpoints").json, [])
            self.assertEqual(server.post("/prompt", {"prompt": prompt}).status, 400)
            shutil.copy(CHECKPOINT, file)
            self.assertEqual(server.get("/models/checkpoints").json, ["m.safetensors"])
            first = self.picture(server, prompt)
            other_checkpoint(CHECKPOINT, file, 0.25)
            second = self.picture(server, prompt)
            self.assertNotEqual(first, second)
            self.assertEqual(second, self.fresh_picture(models, prompt))
            put(file, b"\x08\0\0\0\0\0\0\0{\"broken")
            broken = self.run_prompt(server, prompt)
            self.assertEqual(broken["status"]["status_str"], "error")
            shutil.copy(CHECKPOINT, file)
            self.assertEqual(self.picture(server, prompt), first)

    def test_variants_in_any_order_are_those_of_a_fresh_server(self):
        night, outline = "style-night.safetensors", "style-outline.safetensors"
        name = os.path.basename(CHECKPOINT)
        order = [[(night, 1)], [(night, 0.5)], [], [(outline, 1)], [], [(outline, -0.5), (night, 1)], [(night, 1)]]
        with Server(PROGRAM, "models=" + DEMO) as server:
            seen = [self.picture(server, workflow(name, loras)) for loras in order]
        self.assertEqual(len(set(seen)), 5)
        self.assertEqual(seen[2], seen[4])
        self.assertEqual(seen[0], seen[6])
        for loras, pixels in list(zip(order, seen))[:6]:
            self.assertEqual(pixels, self.fresh_picture(DEMO, workflow(name, loras)), loras)

    def test_memory_does_not_grow_with_the_models_that_were_used(self):
        models = self.folder("checkpoints")
        names = [f"m{i}.safetensors" for i in range(6)]
        for i, name in enumerate(names):
            other_checkpoint(CHECKPOINT, os.path.join(models, "checkpoints", name), i / 64)
        with Server(PROGRAM, "models=" + models) as server:
            idle = resident_kib(server.process.pid)
            after = []
            for round_number in range(4):
                for name in names:
                    self.picture(server, workflow(name, seed=round_number))
                after.append(resident_kib(server.process.pid))
            self.assertLessEqual(after[3], after[1] * 1.05, after)
            self.assertEqual(server.post("/free", {"unload_models": True, "free_memory": True}).status, 200)
            self.picture(server, workflow(names[0], seed=9))  # the request is carried out by the worker, between jobs
            self.assertEqual(server.post("/free", {"unload_models": True, "free_memory": True}).status, 200)
            for _ in range(200):
                if resident_kib(server.process.pid) <= idle + 50 * 1024:
                    break
                server.get("/system_stats")
            self.assertLessEqual(resident_kib(server.process.pid), idle + 50 * 1024)

    def test_names_of_other_systems_lead_to_the_same_file(self):
        models = self.folder("checkpoints/sub")
        shutil.copy(CHECKPOINT, os.path.join(models, "checkpoints", "sub", "m.safetensors"))
        with Server(PROGRAM, "models=" + models) as server:
            self.assertEqual(self.picture(server, workflow("sub\\m.safetensors")), self.picture(server, workflow("sub/m.safetensors")))
            for name in ("SUB/m.safetensors", "..\\..\\etc", "../checkpoints/sub/m.safetensors"):
                answer = server.post("/prompt", {"prompt": workflow(name)})
                self.assertEqual(answer.status, 400, name)
                self.assertIn("ckpt_name", json.dumps(answer.json["node_errors"]["1"]), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
