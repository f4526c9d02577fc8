"""Files of models that other hands replace, remove and write to while jobs run."""

import json
import os
import shutil
import sys
import unittest

from demo_models import demo, put, shards_of, workflow
from model_server import ModelServer, NAME, SOURCE, sha256, until

LORA = os.path.join(demo(SOURCE), "loras", "style-night.safetensors")


class ModelFiles(ModelServer):
    def test_a_file_that_is_still_being_written_is_not_taken_for_a_model(self):
        server = self.start()
        with open(self.a, "rb") as file:
            whole = file.read()
        with open(self.file, "wb") as copy:  # all of its length at once, as some programs copy
            copy.write(whole[:1 << 20])
            copy.truncate(len(whole))
            copy.flush()
            error = self.load(server, 409)["error"]
            self.assertEqual((error["type"], error["extra_info"]["field"]), ("file_busy", "model_name"))
            self.assertIn("being written", json.dumps(self.entry(server, workflow(NAME))["status"]))
            copy.seek(1 << 20)
            copy.write(whole[1 << 20:])
        self.load(server)
        first = self.picture(server)
        os.remove(self.file)
        with open(self.file, "wb") as copy:
            copy.write(whole[:1 << 20])
            copy.flush()
            self.load(server, 409)
        with open(self.file + ".aria2", "w"):
            self.load(server, 409)
        os.remove(self.file + ".aria2")
        self.place(self.a)
        self.assertEqual(self.picture(server), first)

    def test_a_model_that_is_deleted_while_it_runs_is_run_to_the_end(self):
        server = self.start()
        self.place(self.a)
        expected = self.picture(server, 1, steps=12)
        server.post("/free", {"free_memory": True})
        self.picture(server, 2)
        web = server.socket("c")
        prompt = workflow(NAME, seed=1, steps=12)
        identity = server.post("/prompt", {"prompt": prompt, "client_id": "c"}).json["prompt_id"]
        while True:
            message = web.next()
            if isinstance(message, dict) and message["type"] == "progress":
                break
        os.remove(self.file)
        self.assertEqual(self.pixels_of(server, server.wait(identity)), expected)
        refused = server.post("/prompt", {"prompt": workflow(NAME, seed=3)})
        self.assertEqual(refused.status, 400)
        self.assertEqual(refused.json["node_errors"]["1"]["errors"][0]["extra_info"]["input_name"], "ckpt_name")
        until(lambda: self.mapped_but_gone(server) == 0)
        web.close()

    def test_a_file_that_is_written_over_while_it_runs_ends_the_job_with_an_error_and_not_the_server(self):
        server = self.start()
        with open(self.a, "rb") as file:
            whole = file.read()
        for number, (cut, back) in enumerate(((False, False), (True, False), (False, True))):
            put(self.file, whole)
            facts = os.stat(self.file)
            server.post("/free", {"unload_models": True, "free_memory": True})
            web = server.socket("c")
            prompt = workflow(NAME, seed=20 + number, steps=100)
            identity = server.post("/prompt", {"prompt": prompt, "client_id": "c"}).json["prompt_id"]
            while True:
                message = web.next()
                if isinstance(message, dict) and message["type"] == "progress":
                    break
            with open(self.file, "wb" if cut else "r+b") as file:
                file.write(whole[:1000] if cut else whole)
            if back:
                os.utime(self.file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            status = server.wait(identity, 120)["status"]
            self.assertEqual(status["status_str"], "error")
            self.assertIn("written to while it was in use", json.dumps(status))
            web.close()
        put(self.file, whole)
        self.picture(server, 5)

    def while_it_runs(self, server, name, seed, change, steps=100):
        """The history of a job during whose sampling `change` was called."""
        server.post("/free", {"unload_models": True, "free_memory": True})
        web = server.socket("c")
        identity = server.post("/prompt", {"prompt": workflow(name, seed=seed, steps=steps), "client_id": "c"}).json["prompt_id"]
        while True:
            message = web.next()
            if isinstance(message, dict) and message["type"] == "progress":
                break
        change()
        entry = server.wait(identity, 120)
        web.close()
        return entry

    def test_other_names_and_rights_of_a_file_in_use_do_not_end_its_job(self):
        server = self.start()
        self.place(self.a)
        aside = os.path.join(self.models, "aside")

        def change():
            os.chmod(self.file, 0o640)
            os.link(self.file, aside)
            os.utime(self.file, ns=(1, os.stat(self.file).st_mtime_ns))
            self.place(self.b)
            os.rename(aside, aside + "2")
            os.remove(aside + "2")

        self.assertEqual(self.while_it_runs(server, NAME, 31, change)["status"]["status_str"], "success")

    def test_a_shard_that_changes_while_it_runs_is_noticed(self):
        server = self.start()
        folder = os.path.join(self.models, "checkpoints")
        other = os.path.join(self.kept, "other")
        os.makedirs(other, exist_ok=True)
        name = shards_of(self.a, folder, "s")
        shards_of(self.b, other, "s")
        changed = [shard for shard in sorted(os.listdir(other)) if shard.endswith(".safetensors")
                   and sha256(os.path.join(other, shard)) != sha256(os.path.join(folder, shard))]
        self.assertEqual(len(changed), 1)
        self.place(self.a)
        expected = self.picture(server, 41)
        self.assertEqual(self.pixels_of(server, self.entry(server, workflow(name, seed=41))), expected)
        shard = os.path.join(folder, changed[0])
        with open(shard, "rb") as file:
            first = file.read()
        with open(os.path.join(other, changed[0]), "rb") as file:
            second = file.read()
        # Replaced: the job ends with what it began with, the next one has the new content.
        entry = self.while_it_runs(server, name, 42, lambda: put(shard, second))
        self.pixels_of(server, entry)
        self.assertNotEqual(self.pixels_of(server, self.entry(server, workflow(name, seed=41))), expected)
        put(shard, first)
        self.assertEqual(self.pixels_of(server, self.entry(server, workflow(name, seed=41))), expected)

        def in_place():
            facts = os.stat(shard)
            with open(shard, "r+b") as file:
                file.write(second)
            os.utime(shard, ns=(facts.st_atime_ns, facts.st_mtime_ns))

        status = self.while_it_runs(server, name, 43, in_place)["status"]
        self.assertEqual(status["status_str"], "error")
        self.assertIn(changed[0], json.dumps(status))
        self.assertNotEqual(self.pixels_of(server, self.entry(server, workflow(name, seed=41))), expected)

    def test_a_loaded_model_serves_on_when_its_file_is_gone_or_is_no_file_any_more(self):
        server = self.start()
        self.place(self.a)
        first = self.picture(server)
        self.load(server)
        lies_there = {"no file of this name": lambda: None, "folder": lambda: os.makedirs(self.file), "no regular file": lambda: os.mkfifo(self.file)}
        os.remove(self.file)
        for reason, make in lies_there.items():
            make()
            server.post("/free", {"unload_models": True, "free_memory": True})
            self.assertEqual(self.picture(server), first, reason)
            self.assertIn(reason, self.loaded(server)[0]["fault"])
            self.load(server, 404)
            self.assertEqual(self.loaded(server)[0]["version_hash"], sha256(self.a))
            choices = server.get("/object_info/CheckpointLoaderSimple").json["CheckpointLoaderSimple"]["input"]["required"]["ckpt_name"][0]
            self.assertEqual((choices, server.get("/models/checkpoints").json), ([NAME], [NAME]))
            bound = server.post("/prompt/queue", {"prompt": workflow(NAME, seed=9)}).json
            self.assertEqual([m["version_hash"] for m in bound["models"]], [sha256(self.a)])
            if os.path.isdir(self.file):
                os.rmdir(self.file)
            elif os.path.exists(self.file):
                os.remove(self.file)
        self.place(self.b)
        self.assertNotEqual(self.picture(server), first, "a good file takes the name")
        self.assertIsNone(self.loaded(server)[0]["fault"])
        os.remove(self.file)
        self.assertEqual(server.post("/model/unload", {"model_name": NAME, "type": "checkpoints"}).status, 200)
        self.assertEqual(server.post("/prompt", {"prompt": workflow(NAME)}).status, 400)

    def test_a_file_that_comes_under_a_loaded_name_is_hashed_without_being_asked(self):
        server = self.start()
        self.place(self.a)
        self.load(server)
        self.place(self.b)
        until(lambda: self.loaded(server)[0]["version_hash"] == sha256(self.b))

    def test_a_lora_and_an_embedding_that_are_replaced_are_other_ones(self):
        server = self.start()
        self.place(self.a)
        lora = os.path.join(self.models, "loras", "l.safetensors")
        shutil.copy(LORA, lora)
        prompt = workflow(NAME, [("l.safetensors", 1.0)])
        first = self.pixels_of(server, self.entry(server, prompt))
        answer = server.post("/model/load", {"model_name": "l.safetensors", "type": "loras"})
        self.assertEqual((answer.status, answer.json["version_hash"]), (200, sha256(LORA)))
        self.assertEqual(server.post("/model/load", {"model_name": "l.safetensors", "type": "embeddings"}).status, 404)
        with open(os.path.join(demo(SOURCE), "loras", "style-outline.safetensors"), "rb") as file:
            put(lora, file.read())
        self.assertEqual(server.post("/model/load", {"model_name": "l.safetensors", "type": "loras"}).json["status"], "loaded")
        self.assertNotEqual(self.pixels_of(server, self.entry(server, prompt)), first)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
