"""A server over models that a test may change, and what tests ask of it."""

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
import unittest

from client import Server
from demo_models import checkpoint_of, other_checkpoint, pixel_data, put, workflow

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
NAME = "m.safetensors"


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def until(condition, timeout=120):
    end = time.time() + timeout
    while not condition():
        if time.time() > end:
            raise TimeoutError
        time.sleep(0.02)


class ModelServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.mkdtemp(prefix="veneer_kept_")
        cls.a, cls.b = os.path.join(cls.kept, "a"), os.path.join(cls.kept, "b")
        shutil.copy(checkpoint_of(SOURCE), cls.a)
        other_checkpoint(cls.a, cls.b, 0.25)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.kept, ignore_errors=True)

    def setUp(self):
        self.models = tempfile.mkdtemp(prefix="veneer_models_")
        self.addCleanup(shutil.rmtree, self.models, True)
        for kind in ("checkpoints", "loras", "vae", "embeddings"):
            os.makedirs(os.path.join(self.models, kind))
        self.file = os.path.join(self.models, "checkpoints", NAME)

    def start(self, *options):
        server = Server(PROGRAM, "models=" + self.models, *options).start()
        self.addCleanup(server.__exit__)
        return server

    def place(self, source):
        with open(source, "rb") as file:
            put(self.file, file.read())

    def load(self, server, status=200, **more):
        answer = server.post("/model/load", {"model_name": NAME, "type": "checkpoints", **more}, timeout=120)
        self.assertEqual(answer.status, status, answer.body[:600])
        return answer.json

    def entry(self, server, prompt):
        answer = server.post("/prompt", {"prompt": prompt})
        self.assertEqual(answer.status, 200, answer.body[:500])
        return server.wait(answer.json["prompt_id"], 120)

    def pixels_of(self, server, entry):
        self.assertEqual(entry["status"]["status_str"], "success", json.dumps(entry["status"])[:800])
        image = entry["outputs"]["7"]["images"][0]
        return pixel_data(server.get(f"/view?filename={image['filename']}&type={image['type']}&subfolder={image['subfolder']}").body)

    def picture(self, server, seed=1, **more):
        return self.pixels_of(server, self.entry(server, workflow(NAME, seed=seed, **more)))

    def loaded(self, server):
        return server.get("/model/loaded").json["models"]

    def mapped_but_gone(self, server):
        with open(f"/proc/{server.process.pid}/maps") as maps:
            return sum("safetensors" in line and "(deleted)" in line for line in maps)

    def resident_bytes(self, server):
        return server.get("/memory").json["resident_bytes"]
