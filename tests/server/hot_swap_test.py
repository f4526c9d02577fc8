"""Models and workflows that change while jobs run: /model/load, /workflow/reload, /prompt/queue."""

import concurrent.futures
import hashlib
import json
import os
import shutil
import sys
import threading
import unittest

from demo_models import demo, put, resident_kib, workflow
from model_server import ModelServer, NAME, SOURCE, sha256, until

LORA = os.path.join(demo(SOURCE), "loras", "style-night.safetensors")
SEEDS = (1, 2, 3)


class HotSwap(ModelServer):
    def test_thirty_swaps_under_load_mix_nothing_and_leave_no_memory_behind(self):
        server = self.start("workers=2")
        expected = {}
        for name, source in (("b", self.b), ("a", self.a)):
            self.place(source)
            for seed in SEEDS:
                expected[name, seed] = self.picture(server, seed)
        self.assertEqual(len(set(expected.values())), 6)
        self.load(server)
        until(lambda: self.mapped_but_gone(server) == 0)
        resident, process = self.resident_bytes(server), resident_kib(server.process.pid)
        stop, seen, failures = threading.Event(), [], []

        def client(number):
            turn = number
            while not stop.is_set():
                turn += 1
                seed = SEEDS[turn % len(SEEDS)]
                try:
                    seen.append((seed, self.picture(server, seed)))
                except BaseException as error:  # told below
                    failures.append(repr(error))
                    return

        clients = [threading.Thread(target=client, args=(n,)) for n in range(4)]
        for thread in clients:
            thread.start()
        for turn in range(30):
            source = self.b if turn % 2 == 0 else self.a
            self.place(source)
            done = self.load(server, force_reload=turn % 3 == 0)
            # A job may have let the file take its name before, and that is hashed by itself where the machine is slow.
            self.assertIn(done["status"], ("loaded",) if turn % 3 == 0 else ("loaded", "unchanged"))
            self.assertEqual(done["version_hash"], sha256(source))
        stop.set()
        for thread in clients:
            thread.join()
        self.assertEqual(failures, [])
        mixed = [seed for seed, pixels in seen if pixels not in (expected["a", seed], expected["b", seed])]
        self.assertEqual(mixed, [])
        self.assertGreaterEqual(len(seen), 8)
        # One model's weights, as before, and no mapping of a file that was replaced.
        until(lambda: self.mapped_but_gone(server) == 0)
        until(lambda: self.resident_bytes(server) <= resident)
        # The process gave it back as well: one model that stayed with every swap would be thirty times this margin.
        margin = os.path.getsize(self.a) // 1024
        until(lambda: resident_kib(server.process.pid) <= process + 4 * margin)
        self.assertEqual(self.picture(server, 1), expected["a", 1])

    def test_a_load_that_fails_changes_nothing(self):
        server = self.start()
        self.place(self.a)
        first = self.picture(server)
        self.load(server)
        before = self.loaded(server)
        with open(self.a, "rb") as file:
            whole = file.read()
        with open(LORA, "rb") as file:
            lora = file.read()
        for data, status, kind in ((b"\x08\0\0\0\0\0\0\0{\"broken", 400, "corrupt"), (whole[:len(whole) // 2], 400, "corrupt"), (lora, 415, "unsupported"),
                                   (b"", 400, "corrupt")):
            put(self.file, data)
            error = self.load(server, status, force_reload=True)["error"]
            self.assertEqual(error["type"], kind)
            self.assertEqual((error["extra_info"]["field"], "file" in error["extra_info"]), ("model_name", True))
            self.assertEqual([(m["model_name"], m["version_hash"]) for m in self.loaded(server)], [(m["model_name"], m["version_hash"]) for m in before])
            self.assertEqual(self.picture(server), first)
        self.place(self.b)
        self.load(server, 400, sha256="0" * 64)
        self.load(server, sha256=sha256(self.b))
        self.assertNotEqual(self.picture(server), first)

    def test_a_file_that_is_not_what_its_header_tells_is_not_loaded(self):
        server = self.start()
        self.place(self.a)
        first = self.picture(server)
        self.load(server)
        with open(self.a, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header, tensors = json.loads(file.read(size)), file.read()
        with open(self.b, "rb") as file:
            other = file.read()[8 + size:]
        right = hashlib.sha256(tensors).hexdigest()
        told = os.path.join(self.kept, "told.safetensors")
        header["__metadata__"] = {"format": "pt", "veneer.tensors_sha256": right}
        for content, status in ((other, 400), (tensors, 200)):
            text = json.dumps(header).encode()
            text += b" " * (-len(text) % 8)
            put(told, len(text).to_bytes(8, "little") + text + content)
            self.place(told)
            answer = self.load(server, status, force_reload=True)
            if status == 400:
                self.assertEqual((answer["error"]["type"], answer["error"]["extra_info"]["field"]), ("corrupt", "model_name"))
                self.assertIn("header tells", answer["error"]["message"])
                self.assertIn("header tells", self.loaded(server)[0]["fault"])
            self.assertEqual(self.picture(server), first)

    def told(self, header, tensors, sha256):
        """A model file that tells that hash of its tensors."""
        header["__metadata__"] = {"format": "pt", "veneer.tensors_sha256": sha256}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text + tensors

    def test_a_file_that_tells_a_checksum_takes_a_loaded_name_once_it_was_compared(self):
        server = self.start()
        self.place(self.a)
        first = self.picture(server)
        self.load(server)
        with open(self.b, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header, tensors = json.loads(file.read(size)), file.read()
        put(self.file, self.told(header, tensors, "0" * 64))
        until(lambda: "header tells" in (self.loaded(server)[0]["fault"] or ""))
        self.assertEqual(self.picture(server), first, "before it was compared, and while it is")
        until(lambda: "those that its header tells" in (self.loaded(server)[0]["fault"] or ""))
        model = self.loaded(server)[0]
        self.assertEqual((model["version_hash"], model["serves"]), (sha256(self.a), True))
        self.assertEqual(self.picture(server), first)
        until(lambda: "does not serve" in server.get("/internal/logs").body.decode())
        put(self.file, self.told(header, tensors, hashlib.sha256(tensors).hexdigest()))
        until(lambda: self.loaded(server)[0]["version_hash"] == sha256(self.file))
        self.assertIsNone(self.loaded(server)[0]["fault"])
        self.assertNotEqual(self.picture(server), first)

    def test_a_loaded_model_that_is_spoilt_in_place_is_shown_and_logged(self):
        server = self.start()
        self.place(self.a)
        first = self.picture(server)
        self.load(server)
        with open(self.file, "r+b") as file:
            file.write(b"spoilt!!")
        model = self.loaded(server)[0]
        self.assertEqual((model["serves"], model["version_hash"]), (False, None))
        self.assertIn("written to in place", model["fault"])
        until(lambda: "serves no more" in server.get("/internal/logs").body.decode())
        entry = self.entry(server, workflow(NAME, seed=77))
        self.assertIn("written to in place", json.dumps(entry["status"]))
        self.load(server, 400)
        self.assertFalse(self.loaded(server)[0]["serves"])
        self.place(self.a)
        self.assertEqual(self.picture(server), first)
        self.assertEqual((self.loaded(server)[0]["serves"], self.loaded(server)[0]["fault"]), (True, None))

    def test_weights_of_an_adapter_that_was_replaced_are_let_go(self):
        server = self.start()
        self.place(self.a)
        lora = os.path.join(self.models, "loras", "l.safetensors")
        shutil.copy(LORA, lora)
        self.picture(server)
        plain = self.resident_bytes(server)
        self.picture(server, loras=[("l.safetensors", 1.0)])
        self.assertGreater(self.resident_bytes(server), plain)
        shutil.copy(os.path.join(demo(SOURCE), "loras", "style-outline.safetensors"), lora + ".new")
        os.replace(lora + ".new", lora)
        until(lambda: self.resident_bytes(server) <= plain)

    def test_a_failed_load_leaves_a_model_serving_that_prompts_had_loaded(self):
        server = self.start()
        self.place(self.a)
        first = self.picture(server)
        put(self.file, b"no model")
        self.load(server, 400)
        self.assertEqual(self.picture(server), first)
        self.assertIn("header", self.loaded(server)[0]["fault"])
        self.place(self.b)
        self.assertNotEqual(self.picture(server), first)

    def test_what_is_asked_for_wrongly_is_told_with_the_field_and_what_it_may_be(self):
        server = self.start()
        self.place(self.a)
        types = ["checkpoints", "diffusion_models", "embeddings", "loras", "text_encoders", "vae"]
        for body, status, field, allowed in (({"type": "checkpoints"}, 400, "model_name", None), ({"model_name": NAME}, 400, "type", types),
                                             ({"model_name": NAME, "type": "nets"}, 400, "type", types),
                                             ({"model_name": NAME, "type": "configs"}, 400, "type", types),
                                             ({"model_name": 5, "type": "checkpoints"}, 400, "model_name", None),
                                             ({"model_name": NAME, "type": "checkpoints", "force_reload": "yes"}, 400, "force_reload", [True, False]),
                                             ({"model_name": "nope.safetensors", "type": "checkpoints"}, 404, "model_name", [NAME]),
                                             ({"model_name": NAME + "/", "type": "checkpoints"}, 400, "model_name", None),
                                             ({"model_name": NAME + "\\", "type": "checkpoints"}, 400, "model_name", None),
                                             ({"model_name": NAME, "type": "checkpoints", "force": True}, 400, "force",
                                              ["model_name", "type", "force_reload", "sha256"]),
                                             ({"model_name": "../" + NAME, "type": "checkpoints"}, 400, "model_name", None)):
            answer = server.post("/model/load", body)
            self.assertEqual(answer.status, status, (body, answer.body))
            extra = answer.json["error"]["extra_info"]
            self.assertEqual((extra["field"], extra.get("allowed")), (field, allowed), body)
        for body in ("[]", "x", ""):
            self.assertEqual(server.post("/model/load", body).status, 400)
        self.assertEqual(server.post("/model/unload", {"model_name": NAME, "type": "checkpoints"}).status, 404)
        for path, body in (("/model/unload", {"model_name": NAME, "type": "checkpoints", "force_reload": True}), ("/workflow/reload", {"prompts": {}})):
            answer = server.post(path, body)
            extra = answer.json["error"]["extra_info"]
            self.assertEqual((answer.status, extra["field"], "type" in extra["allowed"] or "prompt" in extra["allowed"]), (400, list(body)[-1], True))

    def test_reloads_of_one_name_at_once_are_one_after_another(self):
        server = self.start()
        self.place(self.a)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: server.post("/model/load", {"model_name": NAME, "type": "checkpoints"}, timeout=120), range(8)))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(sorted(answer.json["status"] for answer in answers), ["loaded"] + ["unchanged"] * 7)
        self.assertEqual({answer.json["version_hash"] for answer in answers}, {sha256(self.a)})

    def test_the_same_content_under_a_new_file_is_no_other_model(self):
        server = self.start()
        self.place(self.a)
        self.load(server)
        first = self.picture(server)
        self.place(self.a)
        self.assertEqual(self.load(server)["status"], "unchanged")
        cached = self.entry(server, workflow(NAME, seed=1))["status"]["messages"][1][1]["nodes"]
        self.assertIn("1", cached)
        self.assertEqual(self.load(server, force_reload=True)["status"], "loaded")
        again = self.entry(server, workflow(NAME, seed=1))
        self.assertNotIn("1", again["status"]["messages"][1][1]["nodes"])
        self.assertEqual(self.pixels_of(server, again), first)

    def metric(self, server, name):
        text = server.get("/metrics").body.decode()
        return int(next(line.rsplit(" ", 1)[1] for line in text.splitlines() if line.startswith(name + " ")))

    def test_metrics_count_switches_evictions_and_bytes_by_tier(self):
        server = self.start()
        self.place(self.a)
        shutil.copy(LORA, os.path.join(self.models, "loras", "l.safetensors"))
        self.assertEqual(self.metric(server, 'veneer_weight_bytes{tier="mapped"}'), 0)
        self.picture(server, 1)
        self.assertEqual(self.metric(server, "veneer_variant_switches_total"), 0)
        mapped, resident = (self.metric(server, f'veneer_weight_bytes{{tier="{tier}"}}') for tier in ("mapped", "resident"))
        self.assertGreater(mapped, 25 << 20)
        self.assertGreater(resident, 20 << 20)
        built = self.metric(server, "veneer_weights_built_total")
        self.pixels_of(server, self.entry(server, workflow(NAME, [("l.safetensors", 0.5)])))
        switches = self.metric(server, "veneer_variant_switches_total")
        self.assertGreaterEqual(switches, 1)
        self.assertGreater(self.metric(server, "veneer_weights_built_total"), built)
        self.pixels_of(server, self.entry(server, workflow(NAME, [("l.safetensors", 0.5)], seed=9)))
        self.assertEqual(self.metric(server, "veneer_variant_switches_total"), switches)
        self.picture(server, 2)
        self.assertGreater(self.metric(server, "veneer_variant_switches_total"), switches)
        self.assertGreater(self.metric(server, "veneer_step_seconds_count"), 3)
        evicted = self.metric(server, "veneer_evictions_total")
        server.post("/free", {"unload_models": True})
        until(lambda: self.metric(server, 'veneer_weight_bytes{tier="resident"}') == 0)
        self.assertGreater(self.metric(server, "veneer_evictions_total"), evicted)
        self.assertGreater(self.metric(server, "veneer_evicted_bytes_total"), resident)
        self.assertGreater(self.metric(server, 'veneer_weight_bytes{tier="mapped"}'), 0)
        server.post("/free", {"free_memory": True})
        until(lambda: self.metric(server, 'veneer_weight_bytes{tier="mapped"}') == 0)

    def test_a_reload_of_a_workflow_tells_which_node_became_which_and_what_runs_again(self):
        server = self.start()
        self.place(self.a)
        before = workflow(NAME)
        self.picture(server)
        same = server.post("/workflow/reload")
        self.assertEqual(same.status, 200, same.body)
        self.assertEqual(same.json["node_id_mapping"], {key: key for key in before})
        self.assertEqual(same.json["affected_nodes"], [])
        self.assertEqual([(m["node"], m["model_name"], m["version_hash"], m["changed"]) for m in same.json["models"]], [("1", NAME, sha256(self.a), False)])

        renamed = json.loads(json.dumps(before))
        for key in ("1", "5"):
            renamed[key + "0"] = renamed.pop(key)
        for node in renamed.values():
            for name, value in node["inputs"].items():
                if isinstance(value, list) and value[0] in ("1", "5"):
                    value[0] += "0"
        renamed["50"]["inputs"]["seed"] = 77
        answer = server.post("/workflow/reload", {"prompt": renamed}).json
        self.assertEqual(answer["node_id_mapping"], {key: key + "0" if key in ("1", "5") else key for key in before})
        self.assertEqual(answer["affected_nodes"], ["50", "6", "7"])
        self.assertEqual(answer["version_hash"], same.json["version_hash"])

        self.place(self.b)
        self.load(server)
        swapped = server.post("/workflow/reload", {"prompt": before, "previous": before}).json
        self.assertEqual((swapped["affected_nodes"], swapped["kept_nodes"]), (["1", "2", "3", "5", "6", "7"], ["4"]))
        self.assertNotEqual(swapped["version_hash"], same.json["version_hash"])
        queued = server.post("/prompt/queue", {"prompt": before})
        self.assertEqual((queued.status, queued.json["version_hash"]), (200, swapped["version_hash"]))
        entry = server.wait(queued.json["prompt_id"])
        self.assertEqual(entry["status"]["messages"][1][1]["nodes"], ["4"])
        self.assertEqual(server.post("/workflow/reload").json["affected_nodes"], [])

    def test_a_reload_of_a_workflow_that_fails_changes_nothing(self):
        server = self.start()
        self.assertEqual(server.post("/workflow/reload").status, 400)
        self.place(self.a)
        self.picture(server)
        for body, status in (({"prompt": {}}, 400), ({"prompt": workflow("nope.safetensors")}, 400), ({"prompt": 5}, 400), ({"previous": "nope"}, 404),
                             ({"previous": 5}, 400), ("[]", 400)):
            self.assertEqual(server.post("/workflow/reload", body).status, status, body)
        put(self.file, b"no model")
        error = server.post("/workflow/reload", {}).json["error"]
        self.assertEqual((error["type"], error["extra_info"]["node"], error["extra_info"]["input"]), ("corrupt", "1", "ckpt_name"))
        self.assertEqual(server.post("/prompt/queue", {"prompt": workflow(NAME)}).status, 400)
        self.assertEqual(server.get("/prompt").json["exec_info"]["queue_remaining"], 0)
        self.assertEqual(server.post("/prompt/queue", {"prompt": {}}).status, 400)
        self.assertEqual(len(server.get("/history").json), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
