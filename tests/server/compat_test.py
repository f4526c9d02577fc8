"""OpenAI's images API, the A1111 API and variants as models, on the demo model."""

import base64
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import unittest

from client import Server
from routes_test_data import png

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
DEMO = os.path.join(SOURCE, "models", "demo")


class Compat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "models=" + DEMO).start()
        cls.model = cls.server.get("/models/checkpoints").json[0]
        cls.loras = cls.server.get("/models/loras").json

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def post(self, path, body, status=200):
        answer = self.server.post(path, body, timeout=300)
        self.assertEqual(answer.status, status, answer.body[:400])
        return answer.json

    def small(self, **more):
        return {"prompt": "a red circle", "size": "64x64", "steps": 2, "seed": 5, **more}

    def openai(self, **more):
        return [base64.b64decode(d["b64_json"]) for d in self.post("/v1/images/generations", self.small(**more))["data"]]

    def test_openai_pictures_are_those_of_their_seeds(self):
        two = self.openai(n=2)
        self.assertTrue(two[0].startswith(b"\x89PNG"))
        pixels = lambda picture: picture[picture.index(b"IDAT"):]
        self.assertEqual(pixels(self.openai(seed=6)[0]), pixels(two[1]))
        self.assertNotEqual(pixels(two[0]), pixels(two[1]))

    def test_openai_links_are_fetched(self):
        url = self.post("/v1/images/generations", self.small(response_format="url"))["data"][0]["url"]
        self.assertTrue(self.server.get(url.split(str(self.server.port), 1)[1]).body.startswith(b"\x89PNG"))

    def test_openai_edits(self):
        answer = self.server.upload("/v1/images/edits", {"prompt": "a blue square", "size": "64x64", "steps": "2", "seed": "3"}, "i.png", png(64, 64),
                                    timeout=300)
        self.assertEqual(answer.status, 200, answer.body[:300])

    def edit(self, fields=(), files=()):
        parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()
                 for name, value in {"prompt": "a blue square", "steps": "1", "seed": "3", **dict(fields)}.items()]
        parts += [f'Content-Disposition: form-data; name="{name}"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n'.encode() + data
                  for name, data in files]
        body = b"".join(b"--xyz\r\n" + part + b"\r\n" for part in parts) + b"--xyz--\r\n"
        return self.server.post("/v1/images/edits", body, headers={"Content-Type": "multipart/form-data; boundary=xyz"}, timeout=120)

    def test_openai_edits_keep_the_sides_of_their_picture(self):
        for sides, want in (((40, 24), (40, 24)), ((67, 33), (64, 32)), ((1, 1), (16, 16))):
            answer = self.edit(files=[("image", png(*sides))])
            self.assertEqual(answer.status, 200, answer.body)
            picture = base64.b64decode(answer.json["data"][0]["b64_json"])
            self.assertEqual(tuple(int.from_bytes(picture[at:at + 4], "big") for at in (16, 20)), want)

    def test_openai_edits_with_masks_that_say_nothing_are_refused(self):
        for files, fields, reason in (([("image", png(64, 64)), ("mask", png(64, 64))], {}, "alpha"),
                                      ([("image", png(64, 64)), ("mask", b"junk")], {}, "cannot be read"),
                                      ([("image", png(64, 64))], {"mask": "text"}, "must be a picture"),
                                      ([("image", png(64, 64)), ("image[]", png(64, 64))], {}, "one picture")):
            answer = self.edit(fields, files)
            self.assertEqual(answer.status, 400, answer.body)
            self.assertIn(reason, answer.body.decode())

    def test_seeds_as_text_are_whole_or_refused(self):
        for seed in ("99999999999999999999", " -5", "-1", "1.5", "", "0x10", "7 "):
            answer = self.server.post("/v1/images/generations", {"prompt": "a", "size": "64x64", "steps": 1, "seed": seed})
            self.assertEqual(answer.status, 400, (seed, answer.body))

    def test_openai_errors(self):
        for body, status in (({}, 400), (self.small(size="63x64"), 400), (self.small(n=99), 400), (self.small(model="nope"), 404), (self.small(seed=-1), 400),
                             (self.small(adapters=[{"name": "nope"}]), 404), (self.small(sampler="nope"), 400), ([], 400)):
            self.assertIn("message", self.post("/v1/images/generations", body, status)["error"])

    def test_openai_members_outside_of_what_there_is_are_refused(self):
        for wrong, word in (({"response_format": "png"}, "b64_json"), ({"output_format": "webp"}, "png"), ({"n": 1.5}, "1 to 10"), ({"n": 11}, "1 to 10"),
                            ({"n": 0}, "1 to 10"), ({"stream": True}, "false"), ({"steps": 2.5}, "whole"),
                            ({"adapters": [{"name": "x", "strength": 1}] * 65}, "64"), ({"n": "x"}, "1 to 10")):
            error = self.post("/v1/images/generations", self.small(**wrong), 400)["error"]
            self.assertIn(word, error["message"], wrong)
        many = {"lora_name": "many", "base_model": self.model, "adapters": [{"name": "x"}] * 65}
        self.assertIn("64", self.post("/v1/load_lora_adapter", many, 400)["error"]["message"])

    def test_a1111_members_out_of_range_are_refused(self):
        for field, value, rule, ends in (("steps", 0, "from 1 to 1000", (1, 1000)), ("steps", 1001, "from 1 to 1000", (1, 1000)), ("steps", "many", "whole", (1, 1000)),
                                         ("steps", 2.5, "whole", (1, 1000)), ("denoising_strength", 1.5, "from 0 to 1", (0, 1)), ("cfg_scale", "x", "from 0 to 100", (0, 100)),
                                         ("width", 8, "from 16 to 4096", (16, 4096)), ("batch_size", [2], "from 1 to 64", (1, 64)), ("seed", 2 ** 64, "18446744073709551615", (-1, 2 ** 64 - 1)),
                                         ("seed", "one", "as text", (-1, 2 ** 64 - 1)), ("prompt", ["x"], "must be text", (None, None))):
            error = self.post("/sdapi/v1/txt2img", {"prompt": "x", "width": 64, "height": 64, "steps": 1, field: value}, 422)["error"]
            self.assertIn(rule, error["message"], field)
            extra = error["extra_info"]
            self.assertEqual((extra["field"], extra.get("minimum"), extra.get("maximum")), (field, *ends), field)

    def test_a1111_takes_what_its_clients_send(self):
        # Values as text, as the web UI's own models read them, and the members that clients send whether they mean them or not.
        for more in ({"seed": "-1"}, {"seed": -1}, {"seed": -1.0, "steps": "1"}, {"steps": 1.0, "cfg_scale": "7", "width": "64"}, {"sampler_name": None, "sampler_index": "Euler"},
                     {"script_name": None, "script_args": [], "alwayson_scripts": {}, "styles": [], "hr_scale": 2, "seed_resize_from_w": 0, "seed_resize_from_h": -1,
                      "firstphase_width": 0, "refiner_checkpoint": "", "eta": 1.0, "s_noise": 1, "do_not_save_grid": False, "negative_prompt": None}):
            made = self.post("/sdapi/v1/txt2img", {"prompt": "x", "width": 64, "height": 64, "steps": 1, **more})
            self.assertEqual(len(made["images"]), 1, more)
        self.assertEqual(self.post("/sdapi/v1/txt2img", self.a1111(send_images=False))["images"], [])
        error = self.post("/sdapi/v1/txt2img", self.a1111(sampler_name="Oiler"), 400)["error"]
        self.assertEqual(error["extra_info"]["field"], "sampler_name")
        self.assertIn("Euler a", error["extra_info"]["allowed"])

    def test_openai_members_of_the_wrong_kind_are_told_with_field_and_rule(self):
        for field, value, rule in (("cfg", "much", "from 0 to 100"), ("cfg", [7], "from 0 to 100"), ("cfg_scale", {}, "from 0 to 100"), ("steps", True, "from 1 to 1000"), ("seed", 1.5, "whole number"),
                                   ("seed", 2 ** 64, "18446744073709551615"), ("seed", [1], "whole number"), ("negative_prompt", 5, "text"), ("sampler", 5, "text"), ("sampler", "oiler", "euler"),
                                   ("scheduler", "nope", "karras"), ("adapters", "x", "list of objects"), ("adapters", [5], "list of objects"), ("quality", "best", "standard"), ("style", 1, "text"),
                                   ("background", "transparent", "opaque"), ("output_compression", 101, "from 0 to 100"), ("user", {}, "text"), ("size", 64, "text"), ("stream", "maybe", "true or false"),
                                   ("partial_images", 2, "must be 0"), ("cfg_scal", 7, "cfg_scale"), ("strength", 1, "no member"), ("model", 5, "text")):
            error = self.post("/v1/images/generations", self.small(**{field: value}), 400)["error"]
            self.assertIn(rule, error["message"], (field, value))
            self.assertEqual((error["extra_info"]["field"], error["extra_info"]["value"]), (field, value))
        error = self.post("/v1/images/generations", self.small(adapters=[{"name": self.loras[0], "strength": "strong"}]), 400)["error"]
        self.assertEqual(error["extra_info"]["field"], "adapters[0].strength")
        self.post("/v1/images/generations", self.small(cfg=7, cfg_scale=7), 400)
        pixels = lambda pictures: pictures[0][pictures[0].index(b"IDAT"):]
        self.assertEqual(pixels(self.openai(cfg=3)), pixels(self.openai(cfg_scale="3", quality="hd", user="me", background="auto")))
        answer = self.edit({"cfg": "much"}, [("image", png(64, 64))])
        self.assertEqual((answer.status, answer.json["error"]["extra_info"]["field"]), (400, "cfg"))

    def test_variants_are_refused_with_field_and_rule(self):
        for body, field, rule in (({"strength": "strong"}, "strength", "from -100 to 100"), ({"strength": 101}, "strength", "from -100 to 100"), ({"lora_path": 5}, "lora_path", "text"),
                                  ({"adapters": [{"name": self.loras[0], "strenght": 1}]}, "adapters[0].strenght", "strength"), ({"adapters": "x"}, "adapters", "list of objects")):
            error = self.post("/v1/load_lora_adapter", {"lora_name": "refused", "lora_path": self.loras[0], **body}, 400)["error"]
            self.assertEqual(error["extra_info"]["field"], field)
            self.assertIn(rule, error["message"])

    def test_adapters_with_values_that_are_no_numbers_are_refused(self):
        models = tempfile.mkdtemp(prefix="veneer_nan_")
        self.addCleanup(shutil.rmtree, models, True)
        shutil.copytree(os.path.join(DEMO, "checkpoints"), os.path.join(models, "checkpoints"))
        os.makedirs(os.path.join(models, "loras"))
        with open(os.path.join(DEMO, "loras", self.loras[0]), "rb") as file:
            data = bytearray(file.read())
        size = int.from_bytes(data[:8], "little")
        tensor = next(name for name, entry in json.loads(data[8:8 + size]).items() if name.endswith("lora_down.weight"))
        end = 8 + size + json.loads(data[8:8 + size])[tensor]["data_offsets"][1]
        data[end - 2:end] = b"\x00\x7e"
        with open(os.path.join(models, "loras", "nan.safetensors"), "wb") as file:
            file.write(data)
        with Server(PROGRAM, "models=" + models) as server:
            answer = server.post("/v1/load_lora_adapter", {"lora_name": "x", "lora_path": "nan.safetensors"})
            self.assertEqual((answer.status, answer.json["error"]["type"]), (400, "corrupt"), answer.body)
            self.assertIn("nan.safetensors", answer.json["error"]["details"])
            self.assertIn(tensor, answer.json["error"]["details"])
            self.assertNotIn("x", [m["id"] for m in server.get("/v1/models").json["data"]])

    def test_a_client_that_goes_takes_its_job_with_it(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            body = json.dumps(self.small(steps=1000, size="512x512")).encode()
            connection.sendall(b"POST /v1/images/generations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            end = time.time() + 120
            while not self.server.get("/queue").json["queue_running"]:
                self.assertLess(time.time(), end)
                time.sleep(0.02)
            identity = self.server.get("/queue").json["queue_running"][0][1]
        end = time.time() + 120
        while self.server.get(f"/jobs/{identity}").json["status"] != "cancelled":
            self.assertLess(time.time(), end)
            time.sleep(0.05)

    def test_variants_are_models(self):
        lora = self.loras[0]
        made = self.post("/v1/load_lora_adapter", {"lora_name": "by-name", "lora_path": lora, "strength": 0.5})
        self.assertEqual((made["parent"], made["adapters"]), (self.model, [{"name": lora, "strength": 0.5}]))
        listed = {m["id"]: m for m in self.server.get("/v1/models").json["data"]}
        self.assertEqual(listed["by-name"]["fingerprint"], made["fingerprint"])
        self.assertIsNone(listed[self.model]["parent"])
        pixels = lambda pictures: pictures[0][pictures[0].index(b"IDAT"):]
        named = pixels(self.openai(model="by-name"))
        self.assertEqual(named, pixels(self.openai(adapters=[{"name": lora, "strength": 0.5}])))
        self.assertEqual(named, pixels(self.openai(prompt=f"a red circle<lora:{os.path.splitext(lora)[0]}:0.5>")))
        self.assertNotEqual(named, pixels(self.openai()))
        self.post("/v1/load_lora_adapter", {"lora_name": "by-name", "lora_path": lora, "strength": 0.6}, 409)
        self.post("/v1/unload_lora_adapter", {"lora_name": "by-name"})
        self.post("/v1/unload_lora_adapter", {"lora_name": "by-name"}, 404)
        self.post("/v1/images/generations", self.small(model="by-name"), 404)
        for bad, status in (({}, 400), ({"lora_name": "x", "lora_path": "nope"}, 404), ({"lora_name": self.model, "lora_path": lora}, 409),
                            ({"lora_name": "x", "lora_path": lora, "strength": 1e9}, 400)):
            self.post("/v1/load_lora_adapter", bad, status)

    def a1111(self, **more):
        return {"prompt": "a green triangle", "width": 64, "height": 64, "steps": 2, "seed": 9, "sampler_name": "Euler a", **more}

    def test_a1111_text_to_image(self):
        made = self.post("/sdapi/v1/txt2img", self.a1111(batch_size=2))
        info = json.loads(made["info"])
        self.assertEqual((len(made["images"]), info["all_seeds"]), (2, [9, 10]))
        self.assertIn("Sampler: Euler a", info["infotexts"][0])
        text = self.post("/sdapi/v1/png-info", {"image": made["images"][0]})
        self.assertIn("prompt", text["items"])

    def test_a1111_image_to_image(self):
        picture = base64.b64encode(png(64, 64)).decode()
        mask = base64.b64encode(png(64, 64, level=255)).decode()
        made = self.post("/sdapi/v1/img2img", self.a1111(init_images=["data:image/png;base64," + picture], mask=mask, denoising_strength=0.5))
        self.assertEqual(len(made["images"]), 1)
        self.assertNotIn("init_images", made["parameters"])

    def test_a1111_lists_and_options(self):
        self.assertEqual(self.server.get("/sdapi/v1/sd-models").json[0]["title"], self.model)
        self.assertIn("Euler a", [s["name"] for s in self.server.get("/sdapi/v1/samplers").json])
        self.assertIn("karras", [s["name"] for s in self.server.get("/sdapi/v1/schedulers").json])
        self.assertEqual(len(self.server.get("/sdapi/v1/loras").json), len(self.loras))
        self.post("/sdapi/v1/options", {"sd_model_checkpoint": self.model})
        self.assertEqual(self.server.get("/sdapi/v1/options").json["sd_model_checkpoint"], self.model)
        self.post("/sdapi/v1/options", {"sd_model_checkpoint": "nope"}, 404)

    def test_a1111_interrupts_its_own_job(self):
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.server.post("/sdapi/v1/txt2img", self.a1111(steps=900, width=128, height=128), timeout=300)))
        thread.start()
        end = time.time() + 60
        while self.server.get("/sdapi/v1/progress").json["state"]["sampling_step"] == 0 and time.time() < end:
            time.sleep(0.02)
        self.assertGreater(self.server.get("/sdapi/v1/progress").json["progress"], 0)
        self.server.post("/sdapi/v1/interrupt")
        thread.join(60)
        self.assertEqual(answers[0].status, 409)

    def test_a1111_errors(self):
        for body, status in ((self.a1111(steps=0), 422), (self.a1111(seed="x"), 422), (self.a1111(sampler_name="nope"), 400), (self.a1111(n_iter=64, batch_size=64), 422),
                             (self.a1111(prompt="<lora:x:y>"), 400), ([1], 400)):
            self.post("/sdapi/v1/txt2img", body, status)
        for name, value in (("enable_hr", True), ("tiling", True), ("subseed_strength", 0.5), ("script_name", "x"), ("styles", ["x"]), ("alwayson_scripts", {"x": 1})):
            self.post("/sdapi/v1/txt2img", self.a1111(**{name: value}), 422)
        self.assertEqual(self.post("/sdapi/v1/txt2img", self.a1111(enable_hr=False, styles=[], alwayson_scripts={}, subseed_strength=0))["parameters"]["styles"], [])
        self.post("/sdapi/v1/img2img", self.a1111(), 422)
        self.post("/sdapi/v1/img2img", self.a1111(init_images=["AAAA", "AAAA"]), 422)
        self.post("/sdapi/v1/img2img", self.a1111(init_images=["!!!"]), 400)
        self.post("/sdapi/v1/png-info", {"image": "AAAA"}, 400)

    def test_seeds_of_64_bits_come_and_go_as_text_too(self):
        for seed in (2**53 + 1, 2**64 - 1):
            as_number, as_text = (self.server.post("/sdapi/v1/txt2img", self.a1111(seed=given)) for given in (seed, str(seed)))
            self.assertEqual(as_text.status, 200, as_text.body)
            self.assertEqual(as_number.json["images"], as_text.json["images"])
            info = json.loads(as_text.json["info"])
            self.assertEqual((info["seed"], info["seed_texts"]), (seed, [str(seed)]))
            self.assertIn(f"Seed: {seed},", info["infotexts"][0])

    def test_a_batch_is_the_pictures_of_its_seeds_with_noise_in_every_step(self):
        pixels = lambda made: [base64.b64decode(i)[base64.b64decode(i).index(b"IDAT"):] for i in made["images"]]
        for sampler in ("Euler a", "DPM++ SDE"):
            batch = pixels(self.post("/sdapi/v1/txt2img", self.a1111(batch_size=3, sampler_name=sampler)))
            for i in range(3):
                self.assertEqual(pixels(self.post("/sdapi/v1/txt2img", self.a1111(seed=9 + i, sampler_name=sampler))), [batch[i]], (sampler, i))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
