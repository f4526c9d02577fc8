"""Plug-ins as people use them: the program `veneer` with --custom-nodes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from client import Socket

PROGRAM, SOURCE, BUILT = sys.argv[1], sys.argv[2], sys.argv[3]
TESTING, FAULTY = os.path.join(BUILT, "custom_nodes"), os.path.join(BUILT, "faulty_nodes")
EXAMPLE, SAME = os.path.join(BUILT, "example_nodes"), os.path.join(BUILT, "same_class_nodes")

# What each faulty plug-in is refused for.
REASONS = {"constructor_crashes": "crashed while it was loaded", "function_crashes": "crashed while it was loaded", "function_throws": "not today",
           "function_throws_int": "no exception", "function_fails": "the licence is missing", "no_function": "exports no plug-in function",
           "other_version": "another version", "half_registered": "FaultySecond", "built_in_class": "built in", "bad_description": "colour",
           "ends_process": "ended the process", "no_classes": "registers no node class", "missing_symbol": "veneer_there_is_no_such_function"}


class Plugins(unittest.TestCase):
    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="veneer_plugins_")
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)
        # Nothing of the person who runs the tests is looked at.
        self.env = dict(os.environ, HOME=self.base, XDG_DATA_HOME=os.path.join(self.base, "data"), XDG_CACHE_HOME=os.path.join(self.base, "cache"))

    def run_program(self, *arguments, code=0):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=self.env, cwd=self.base, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def models(self):
        folder = os.path.join(self.base, "models")
        os.makedirs(folder, exist_ok=True)
        return ["--models", folder]

    def nodes(self, *arguments):
        done = self.run_program("nodes", "--json", *self.models(), *arguments)
        return {node["class_type"] for node in json.loads(done.stdout)}, done.stderr

    def folder_of(self, *files):
        folder = tempfile.mkdtemp(dir=self.base)
        for file in files:
            shutil.copy(file, folder)
        return folder

    def test_classes_of_plug_ins_are_there_when_asked_for(self):
        classes, errors = self.nodes("--custom-nodes", TESTING, "--custom-nodes", EXAMPLE)
        self.assertLessEqual({"StubImage", "ExampleBrighten", "KSampler"}, classes)
        self.assertEqual(errors, "")
        self.assertNotIn("StubImage", self.nodes()[0])
        self.assertNotIn("StubImage", self.nodes("--custom-nodes", TESTING, "--disable-all-custom-nodes")[0])

    def test_the_folder_beside_the_servers_data_is_the_default(self):
        folder = os.path.join(self.env["XDG_DATA_HOME"], "veneer", "custom_nodes")
        os.makedirs(folder)
        shutil.copy(os.path.join(EXAMPLE, "example.so"), folder)
        self.assertIn("ExampleBrighten", self.nodes()[0])
        self.assertNotIn("ExampleBrighten", self.nodes("--disable-all-custom-nodes")[0])

    def test_nothing_is_loaded_from_model_folders_or_the_working_folder(self):
        for folder in (self.base, os.path.join(self.base, "models")):
            os.makedirs(os.path.join(folder, "custom_nodes"), exist_ok=True)
            shutil.copy(os.path.join(EXAMPLE, "example.so"), os.path.join(folder, "custom_nodes"))
        self.assertNotIn("ExampleBrighten", self.nodes()[0])

    def test_each_faulty_plug_in_is_refused_by_name_and_the_others_work(self):
        folder = self.folder_of(*(os.path.join(FAULTY, name + ".so") for name in REASONS), os.path.join(EXAMPLE, "example.so"))
        with open(os.path.join(folder, "no_library.so"), "w") as file:
            file.write("just text")
        with open(os.path.join(EXAMPLE, "example.so"), "rb") as whole, open(os.path.join(folder, "cut_off.so"), "wb") as file:
            file.write(whole.read(5000))
        os.makedirs(os.path.join(folder, "python_pack"))
        with open(os.path.join(folder, "python_pack", "__init__.py"), "w"):
            pass
        os.mkfifo(os.path.join(folder, "pipe.so"))
        classes, errors = self.nodes("--custom-nodes", folder)
        lines = {line.split(" ")[1]: line for line in errors.splitlines() if line.startswith("plug-in ")}
        for name, reason in (REASONS | {"no_library": "cannot be loaded", "cut_off": "", "python_pack": "Python", "pipe": "no regular file"}).items():
            with self.subTest(name):
                self.assertIn(name, lines)
                self.assertIn(reason, lines[name])
                self.assertIn("is refused", lines[name])
        self.assertIn("ExampleBrighten", classes)
        self.assertIn("KSampler", classes)
        self.assertEqual([c for c in classes if c.startswith("Faulty")], [], "nothing is half registered")

    def test_two_plug_ins_with_one_class(self):
        classes, errors = self.nodes("--custom-nodes", TESTING, "--custom-nodes", SAME)
        self.assertIn("plug-in same_class is refused", errors)
        self.assertIn("StubImage", errors)
        self.assertIn("StubImage", classes)
        self.assertNotIn("FaultyBesideSame", classes)

    def test_what_everybody_may_write_to_is_refused(self):
        folder = self.folder_of(os.path.join(EXAMPLE, "example.so"))
        os.chmod(os.path.join(folder, "example.so"), 0o757)
        classes, errors = self.nodes("--custom-nodes", folder)
        self.assertNotIn("ExampleBrighten", classes)
        self.assertIn("everybody may write to", errors)

    def test_a_folder_that_is_not_there_is_an_error(self):
        done = self.run_program("nodes", *self.models(), "--custom-nodes", "nowhere", code=1)
        self.assertIn("nowhere", done.stderr)

    def test_workflows_with_nodes_of_plug_ins_run_and_are_checked(self):
        prompt = {"1": {"class_type": "EmptyImage", "inputs": {"width": 16, "height": 16, "batch_size": 1, "color": 0}},
                  "2": {"class_type": "ExampleBrighten", "inputs": {"image": ["1", 0], "amount": 0.5}},
                  "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "bright"}}}
        with open(os.path.join(self.base, "w.json"), "w") as file:
            json.dump(prompt, file)
        plugins = ["--custom-nodes", EXAMPLE]
        done = self.run_program("run", "w.json", "--json", *self.models(), *plugins)
        self.assertTrue(os.path.exists(os.path.join(self.base, json.loads(done.stdout)["images"][0]["path"])), done.stdout)
        self.run_program("validate", "w.json", "--no-models", *self.models(), *plugins)
        self.run_program("validate", "w.json", "--no-models", *self.models(), code=1)

    def test_the_server_starts_with_faulty_plug_ins_says_so_and_stops_cleanly(self):
        folder = self.folder_of(*(os.path.join(FAULTY, n + ".so") for n in ("function_crashes", "half_registered")), os.path.join(EXAMPLE, "example.so"))
        log = os.path.join(self.base, "log")
        with open(log, "w") as errors:
            server = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--log-json", "--data", os.path.join(self.base, "d"), *self.models(),
                                       "--custom-nodes", folder], stderr=errors, env=self.env, cwd=self.base)
        try:
            port = self.port_of(log)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/object_info/ExampleBrighten") as answer:
                self.assertEqual(json.load(answer)["ExampleBrighten"]["python_module"], "custom_nodes.example")
        finally:
            server.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(60), 0)
        with open(log) as file:
            said = [json.loads(line) for line in file if line.startswith("{")]
        refused = {line["plugin"]: line["reason"] for line in said if line["message"] == "plug-in refused"}
        self.assertEqual(set(refused), {"function_crashes", "half_registered"})
        self.assertIn("crashed", refused["function_crashes"])
        self.assertEqual([line["plugin"] for line in said if line["message"] == "plug-in loaded"], ["example"])

    def test_the_flags_of_the_result_cache(self):
        prompt = {"a[1].x": {"class_type": "StubImage", "inputs": {"content": "NOISE", "height": 8, "width": 8, "batch_size": 1}},
                  "b[1].x": {"class_type": "SaveImage", "inputs": {"images": ["a[1].x", 0], "filename_prefix": "execution[test_x[0.0-False]]"}}}
        for flags, keeps in ((("--cache-classic",), True), (("--cache-lru", "100"), True), (("--cache-lru", "0"), True), (("--cache-none",), False)):
            with self.subTest(flags):
                log = os.path.join(self.base, "-".join(flags))
                with open(log, "w") as errors:
                    server = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--log-json", "--data", log + ".data", *self.models(), "--custom-nodes",
                                               TESTING, *flags], stderr=errors, env=self.env, cwd=self.base)
                try:
                    port = self.port_of(log)
                    socket = Socket(port, "/ws?clientId=tester")
                    ran = []
                    for number in ("1", "2"):
                        body = json.dumps({"prompt": prompt, "client_id": "tester", "prompt_id": number}).encode()
                        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/prompt", body)).close()
                        seen = socket.until_done(number)
                        ran.append([m["data"]["node"] for m in seen if m["type"] == "executing" and m["data"]["node"]])
                    socket.close()
                    self.assertEqual(ran, [list(prompt), [] if keeps else list(prompt)])
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/history/2") as answer:
                        name = json.load(answer)["2"]["outputs"]["b[1].x"]["images"][0]["filename"]
                    self.assertTrue(name.startswith("execution[test_x[0.0-False]]_0000"), name)
                finally:
                    server.send_signal(signal.SIGTERM)
                    self.assertEqual(server.wait(60), 0)

    def port_of(self, log):
        end = time.time() + 60
        while time.time() < end:
            with open(log) as file:
                for line in file:
                    if line.startswith("{") and "port" in json.loads(line):
                        return json.loads(line)["port"]
            time.sleep(0.05)
        raise TimeoutError("the server did not say its port")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
