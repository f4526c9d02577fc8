"""Public clients from PyPI, unchanged: openai, comfy-api-simplified, comfy-script (comfy-script[default]). Each is looked for in the interpreter that VENEER_CLIENTS_PYTHON
names (a virtual environment), else in this one; what is not installed is skipped, and when none is the whole test is (exit code 77)."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from client import Server
from demo_models import checkpoint_of, demo, workflow

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
PYTHON = os.environ.get("VENEER_CLIENTS_PYTHON", sys.executable)
MODEL = os.path.basename(checkpoint_of(SOURCE))

OPENAI = """
import base64, openai, os, sys
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none")
names = [model.id for model in client.models.list()]
assert sys.argv[2] in names, names
made = client.images.generate(model=sys.argv[2], prompt="a red circle", size="64x64", n=2, response_format="b64_json", extra_body={"steps": 2, "seed": 5})
pictures = [base64.b64decode(item.b64_json) for item in made.data]
assert len(pictures) == 2 and all(p.startswith(b"\\x89PNG") for p in pictures) and pictures[0] != pictures[1]
with open("in.png", "wb") as file:
    file.write(pictures[0])
with open("in.png", "rb") as file:
    edited = client.images.edit(model=sys.argv[2], image=file, prompt="a blue square", size="64x64", extra_body={"steps": 2, "seed": 5})
assert base64.b64decode(edited.data[0].b64_json).startswith(b"\\x89PNG")
try:
    client.images.generate(model="nope", prompt="x")
    raise SystemExit("a model that does not exist was taken")
except openai.NotFoundError as error:
    assert "nope" in str(error), error
"""

COMFY_API_SIMPLIFIED = """
import sys
from comfy_api_simplified import ComfyApiWrapper, ComfyWorkflowWrapper
api = ComfyApiWrapper(sys.argv[1])
flow = ComfyWorkflowWrapper("flow.json")
flow.set_node_param("Sampler", "seed", 7)
flow.set_node_param("Positive", "text", "a green triangle")
pictures = api.queue_and_wait_images(flow, "Save")
assert len(pictures) == 1 and all(data.startswith(b"\\x89PNG") for data in pictures.values()), pictures.keys()
uploaded = api.upload_image("in.png")
assert uploaded["name"] == "in.png", uploaded
"""

COMFY_SCRIPT = """
import sys
from comfy_script.runtime import *
load(sys.argv[1])
from comfy_script.runtime.nodes import *
with Workflow(wait=True) as flow:
    model, clip, vae = CheckpointLoaderSimple(sys.argv[2])
    positive, negative = CLIPTextEncode("a red circle", clip), CLIPTextEncode("", clip)
    latent = EmptyLatentImage(64, 64, 1)
    latent = KSampler(model, 5, 2, 5.0, "euler", "normal", positive, negative, latent, 1.0)
    saved = SaveImage(VAEDecode(latent, vae), "script")
picture = saved.wait()[0]
assert picture.size == (64, 64), picture.size
"""


def installed(module):
    return subprocess.run([PYTHON, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"]).returncode == 0


class Clients(unittest.TestCase):
    def run_client(self, module, script, *arguments, needs=()):
        if not all(installed(name) for name in (module, *needs)):
            self.skipTest(f"{module} is not installed for {PYTHON}: see VENEER_CLIENTS_PYTHON")
        folder = tempfile.mkdtemp(prefix="veneer_client_")
        self.addCleanup(shutil.rmtree, folder, True)
        flow = workflow(MODEL)
        for key, node in flow.items():
            node["_meta"] = {"title": {"2": "Positive", "5": "Sampler", "7": "Save"}.get(key, node["class_type"])}
        with open(os.path.join(folder, "flow.json"), "w") as file:
            json.dump(flow, file)
        with open(os.path.join(folder, "in.png"), "wb") as file:
            file.write(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))
        with open(os.path.join(folder, "script.py"), "w") as file:
            file.write(script)
        with Server(PROGRAM, "models=" + demo(SOURCE), "announced_previews") as server:
            done = subprocess.run([PYTHON, "script.py", f"http://127.0.0.1:{server.port}", *arguments], cwd=folder, capture_output=True, text=True,
                                  timeout=300)
            self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-3000:])

    def test_openai(self):
        self.run_client("openai", OPENAI, MODEL)

    def test_comfy_api_simplified(self):
        self.run_client("comfy_api_simplified", COMFY_API_SIMPLIFIED)

    def test_comfy_script(self):
        self.run_client("comfy_script", COMFY_SCRIPT, MODEL, needs=("nest_asyncio2", "aiohttp"))


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2, exit=False)
    skipped = len(program.result.skipped)
    if program.result.wasSuccessful() and program.result.testsRun == skipped:
        sys.exit(77)
    sys.exit(not program.result.wasSuccessful())
