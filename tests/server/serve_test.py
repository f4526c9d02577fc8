"""The program itself: veneer serve and veneer frontend install."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

from client import Socket

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Serve(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="veneer_serve_")
        self.addCleanup(shutil.rmtree, self.folder, True)
        os.makedirs(os.path.join(self.folder, "models"))

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def start(self, *arguments, before=(), env=None):
        command = [PROGRAM, *before, "serve", "--models", self.path("models"), "--data", self.path("data"), "--input", self.path("input"),
                   "--output", self.path("output"), *arguments]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ, OMP_WAIT_POLICY="passive", **(env or {})))
        self.addCleanup(self.end, process)
        lines = []
        while True:
            line = process.stderr.readline()
            self.assertTrue(line, "".join(lines))
            lines.append(line)
            found = re.search(r'"?port"?[=:](\d+)', line)
            if found:
                return process, int(found.group(1)), lines

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()

    @staticmethod
    def get(port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_serves_until_sigterm(self):
        process, port, lines = self.start("--port", "0", "--log-json")
        self.assertEqual(json.loads(lines[-1])["message"], "listening")
        self.assertEqual(self.get(port, "/health")[0], 200)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)

    def test_flags_come_from_the_environment_and_from_a_file(self):
        port = free_port()
        process, got, _ = self.start(env={"VENEER_PORT": str(port)})
        self.assertEqual(got, port)
        self.end(process)
        port = free_port()
        with open(self.path("veneer.ini"), "w") as file:
            file.write(f"[serve]\nport={port}\nmax-upload-mb=3\n")
        _, got, _ = self.start(before=("--config", self.path("veneer.ini")))
        self.assertEqual(got, port)
        self.assertEqual(json.loads(self.get(got, "/features")[1])["max_upload_size"], 3 << 20)

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60)

    def test_a_taken_port_is_an_error(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = self.run_program("serve", "--models", self.path("models"), "--data", self.path("d"), "--output", self.path("output"), "--input",
                                    self.path("input"), "--port", str(taken.getsockname()[1]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot listen", done.stderr)

    def test_a_data_folder_serves_one_server_until_its_process_ends(self):
        process, port, _ = self.start("--port", "0")
        done = self.run_program("serve", "--models", self.path("models"), "--data", self.path("data"), "--output", self.path("output"), "--input",
                                self.path("input"), "--port", "0")
        self.assertEqual(done.returncode, 1)
        for part in ("another server uses the data folder", self.path("data"), f"process {process.pid}"):
            self.assertIn(part, done.stderr)
        self.assertEqual(self.get(port, "/health")[0], 200)
        process.kill()
        process.wait()
        _, port, _ = self.start("--port", "0")
        self.assertEqual(self.get(port, "/health")[0], 200)

    def test_weak_keys_are_refused(self):
        with open(self.path("keys"), "w") as file:
            file.write("me:short\n")
        done = self.run_program("serve", "--models", self.path("models"), "--data", self.path("d"), "--api-key-file", self.path("keys"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("line: 1", done.stderr)

    def wheel(self, entries, name="comfyui_frontend_package-9.9.9-py3-none-any.whl"):
        path = self.path(name)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry, text in entries.items():
                archive.writestr(entry, text)
        return path

    def test_the_editor_is_installed_and_served(self):
        wheel = self.wheel({"comfyui_frontend_package/static/index.html": "<p>nine</p>" * 100, "comfyui_frontend_package/static/assets/a.js": "1",
                            "comfyui_frontend_package/__init__.py": "", "comfyui_frontend_package-9.9.9.dist-info/METADATA": ""})
        done = self.run_program("frontend", "install", wheel, "--data", self.path("data"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("9.9.9: 2 files", done.stdout)
        _, port, _ = self.start("--port", "0")
        self.assertEqual(self.get(port, "/"), (200, b"<p>nine</p>" * 100))
        self.assertEqual(self.get(port, "/__init__.py")[0], 404)
        self.assertEqual(json.loads(self.get(port, "/system_stats")[1])["system"]["required_frontend_version"], "9.9.9")

    def test_an_old_editor_is_shown_the_loaders_that_it_takes_for_granted(self):
        for version, missing in (("1.27.10", False), ("1.58.1", True)):
            name = f"comfyui_frontend_package-{version}"
            wheel = self.wheel({"comfyui_frontend_package/static/index.html": "x", name + ".dist-info/METADATA": ""}, name + "-py3-none-any.whl")
            self.assertEqual(self.run_program("frontend", "install", wheel, "--data", self.path("data")).returncode, 0)
            process, port, _ = self.start("--port", "0")
            classes = json.loads(self.get(port, "/object_info")[1])
            self.assertEqual("GLIGENLoader" not in classes, missing, version)
            self.assertTrue(missing or classes["GLIGENLoader"]["deprecated"])
            self.end(process)

    def test_the_page_of_the_api_needs_nothing_from_elsewhere(self):
        _, port, _ = self.start("--port", "0")
        for path in ("/docs", "/docs/docs.js", "/docs/page.css"):
            status, body = self.get(port, path)
            self.assertEqual(status, 200, path)
            self.assertNotRegex(body.decode(), r"https?://", path)
        self.assertEqual(self.get(port, "/templates/index.json"), (200, b"[]"))
        self.assertEqual(json.loads(self.get(port, "/api/workflow_templates")[1]), {})
        self.assertEqual(self.get(port, "/templates/none.json")[0], 404)
        described = json.loads(self.get(port, "/openapi.json")[1])["paths"]
        self.assertIn("model_name", described["/model/load"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"])

    def test_a_bad_wheel_leaves_the_installed_editor_alone(self):
        good = self.wheel({"comfyui_frontend_package/static/index.html": "good"})
        self.assertEqual(self.run_program("frontend", "install", good, "--data", self.path("data")).returncode, 0)
        bad = [self.wheel({"comfyui_frontend_package/static/../../../evil": "x"}, "a.whl"), self.wheel({"other/file": "x"}, "b.whl"), self.path("none.whl")]
        cut = self.path("c.whl")
        with open(good, "rb") as source, open(cut, "wb") as target:
            target.write(source.read()[:60])
        for wheel in bad + [cut]:
            done = self.run_program("frontend", "install", wheel, "--data", self.path("data"))
            self.assertEqual(done.returncode, 1, wheel)
        with open(self.path("data", "frontend", "index.html")) as file:
            self.assertEqual(file.read(), "good")
        self.assertFalse(os.path.exists(self.path("evil")))

    def test_previews_go_to_clients_that_announce_them_or_to_all_when_asked(self):
        os.symlink(os.path.join(SOURCE, "models", "demo", "checkpoints"), self.path("models", "checkpoints"))
        with open(os.path.join(SOURCE, "workflows", "txt2img.json")) as file:
            prompt = json.load(file)
        prompt["4"]["inputs"].update(width=64, height=64)
        prompt["5"]["inputs"]["steps"] = 3

        def frame_kinds(port, client, announces, seed):
            prompt["5"]["inputs"]["seed"] = seed
            web = Socket(port, "/ws?clientId=" + client)
            if announces:
                web.send({"type": "feature_flags", "data": {"supports_preview_metadata": True}})
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("POST", "/prompt", json.dumps({"prompt": prompt, "client_id": client}))
            answer = json.loads(connection.getresponse().read())
            frames = [m for m in web.until_done(answer["prompt_id"]) if isinstance(m, bytes)]
            connection.close()
            web.close()
            return {int.from_bytes(frame[:4], "big") for frame in frames}

        process, port, _ = self.start("--port", "0")
        self.assertEqual(frame_kinds(port, "plain", False, 1), set())
        self.assertEqual(frame_kinds(port, "editor", True, 2), {4})
        self.end(process)
        process, port, _ = self.start("--port", "0", "--preview-method", "auto")
        self.assertEqual(frame_kinds(port, "plain", False, 3), {1})
        self.end(process)
        _, port, _ = self.start("--port", "0", "--preview-method", "none")
        self.assertEqual(frame_kinds(port, "editor", True, 4), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
