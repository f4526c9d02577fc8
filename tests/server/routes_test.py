"""HTTP routes: what a client gets for good and for bad requests."""

import json
import os
import struct
import sys
import unittest
import zlib

from client import Server, simple_prompt
from routes_test_data import png

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]


class Routes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM).start()
        cls.put("output/rgb.png", png(8, 6))
        cls.put("output/rgba.png", png(8, 6, 128))
        cls.put("output/x.txt", b"text")
        cls.put("models/loras/sub/tiny.safetensors",
                struct.pack("<Q", 40) + b'{"__metadata__":{"title":"t"}}'.ljust(40))
        cls.put("models/embeddings/sub/bar.pt", b"")
        cls.put("models/checkpoints/a.safetensors", b"")

    @classmethod
    def put(cls, name, data):
        path = os.path.join(cls.server.base, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def get(self, path, status=200, **more):
        answer = self.server.get(path, **more)
        self.assertEqual(answer.status, status, (path, answer.body[:300]))
        return answer

    def post(self, path, body, status=200, **more):
        answer = self.server.post(path, body, **more)
        self.assertEqual(answer.status, status, (path, answer.body[:300]))
        return answer

    def test_every_route_has_a_twin_under_api(self):
        for path in ("/prompt", "/queue", "/history", "/models", "/embeddings", "/system_stats", "/features", "/settings", "/users", "/extensions",
                     "/i18n", "/workflow_templates", "/object_info/EmptyImage", "/jobs", "/global_subgraphs", "/node_replacements"):
            self.assertEqual(self.get(path).headers["Content-Type"], "application/json; charset=utf-8", path)
            self.assertEqual(self.get("/api" + path).status, 200)
        self.get("/api/internal/logs", 404)

    def test_json_is_written_as_pythons_clients_know_it(self):
        self.assertEqual(self.get("/prompt").body, b'{"exec_info": {"queue_remaining": 0}}')

    def test_head_is_get_without_a_body(self):
        answer = self.server.request("HEAD", "/view?filename=rgb.png")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual(int(answer.headers["Content-Length"]), len(self.get("/view?filename=rgb.png").body))

    def test_prompts_that_are_none(self):
        for body, kind in (("[]", "no_prompt"), ("{}", "no_prompt"), ("null", "no_prompt"), ('{"prompt": {}}', "prompt_no_outputs"),
                           ('{"prompt": 3}', "invalid_prompt"), ("{", "invalid_json"), ('{"prompt": {}, "number": "x"}', "invalid_number"),
                           ('{"prompt": {"nodes": [], "links": []}}', "prompt_no_outputs"), ('{"prompt": {"1": {"class_type": "Nope"}}}', "invalid_prompt")):
            answer = self.post("/prompt", body, 400)
            self.assertEqual(answer.json["error"]["type"], kind, body)
            self.assertEqual(answer.json["node_errors"], {})

    def test_an_id_and_a_number_of_ones_own(self):
        answer = self.post("/prompt", {"prompt": simple_prompt(), "prompt_id": 12345, "number": "3"}).json
        self.assertEqual(answer, {"prompt_id": "12345", "number": 3.0, "node_errors": {}})
        self.assertIn(b'"number": 3.0', self.post("/prompt", {"prompt": simple_prompt(), "number": 3}).body)

    def test_seeds_survive_to_the_last_bit(self):
        for seed in (2**53 + 1, 2**64 - 1):
            prompt = simple_prompt(3)
            prompt["5"] = {"class_type": "KSampler", "inputs": {"seed": seed}}
            identity = self.post("/prompt", {"prompt": prompt}).json["prompt_id"]
            self.assertEqual(self.server.wait(identity)["prompt"][2]["5"]["inputs"]["seed"], seed)

    def test_view(self):
        for query, status, kind in (("", 404, None), ("filename=", 400, None), ("filename=rgb.png", 200, "image/png"), ("filename=no.png", 404, None),
                                    ("filename=rgb.png&type=models", 400, None), ("filename=rgb.png&type=", 400, None),
                                    ("filename=rgb.png%20%5Boutput%5D&type=input", 200, "image/png"), ("filename=rgb.png%5Boutput%5D", 404, None),
                                    ("filename=sub%2Frgb.png", 200, "image/png"), ("filename=a..b.png", 400, None),
                                    ("filename=rgb.png&subfolder=x/..", 200, "image/png"), ("filename=rgb.png&preview=webp;50", 200, "image/webp"),
                                    ("filename=rgb.png&preview=jpeg", 200, "image/jpeg"), ("filename=rgba.png&preview=jpeg&channel=a", 200, "image/webp"),
                                    ("filename=rgb.png&preview=webp;500", 400, None), ("filename=x.txt&preview=webp", 415, None),
                                    ("filename=x.txt", 200, "text/plain"), ("filename=rgba.png&channel=a", 200, "image/png")):
            answer = self.get("/view?" + query, status)
            if kind:
                self.assertEqual(answer.headers["Content-Type"], kind, query)
        self.assertEqual(self.get("/view?filename=rgba.png&channel=rgb").body[25], 2)
        self.assertEqual(self.get("/view?filename=rgb.png&channel=a").body[25], 6)

    def test_files_have_ranges_and_validators(self):
        path = "/view?filename=rgb.png"
        whole = self.get(path)
        self.assertEqual(self.get(path, 304, headers={"If-None-Match": whole.headers["Etag"]}).body, b"")
        self.get(path, 304, headers={"If-Modified-Since": whole.headers["Last-Modified"]})
        part = self.get(path, 206, headers={"Range": "bytes=1-3"})
        self.assertEqual((part.body, part.headers["Content-Range"]), (b"PNG", f"bytes 1-3/{len(whole.body)}"))
        self.assertEqual(self.get(path, 206, headers={"Range": "bytes=-4"}).body, whole.body[-4:])
        self.get(path, 416, headers={"Range": "bytes=99999-"})
        self.get(path, 416, headers={"Range": "bytes=3-1"})

    def test_uploads_keep_what_is_there(self):
        up = lambda data, **fields: self.server.upload("/upload/image", fields, "u.png", data).json["name"]
        self.assertEqual([up(b"a"), up(b"a"), up(b"b"), up(b"b"), up(b"c")], ["u.png", "u.png", "u (1).png", "u (1).png", "u (2).png"])
        self.assertEqual(up(b"d", overwrite="true"), "u.png")
        self.assertEqual(self.get("/view?filename=u.png&type=input").body, b"d")
        answer = self.server.upload("/upload/image", {"subfolder": "x/y", "type": "temp"}, "v.png", b"e").json
        self.assertEqual(answer, {"name": "v.png", "subfolder": "x/y", "type": "temp"})
        for answer in (self.server.upload("/upload/image", {}, "u.png", b"", field=None), self.server.upload("/upload/image", {}, "u.png", b"", field="file"),
                       self.server.post("/upload/image", "image=abc", headers={"Content-Type": "application/x-www-form-urlencoded"}),
                       self.server.post("/upload/image", "x", headers={"Content-Type": "multipart/form-data"})):
            self.assertEqual(answer.status, 400)

    def test_a_mask_becomes_the_alpha_of_its_original(self):
        fields = {"original_ref": json.dumps({"filename": "rgb.png"}), "subfolder": "clipspace"}
        self.assertEqual(self.server.upload("/upload/mask", fields, "m.png", png(8, 6, 7)).status, 200)
        merged = self.get("/view?filename=m.png&type=input&subfolder=clipspace").body
        self.assertEqual(merged[25], 6)
        for reference, data, status in ((None, png(8, 6, 7), 400), ("{", png(8, 6, 7), 400), ('{"filename": "no.png"}', png(8, 6, 7), 404),
                                        ('{"filename": "../x.png"}', png(8, 6, 7), 403), ('{"filename": "rgb.png"}', png(4, 4, 7), 400),
                                        ('{"filename": "rgb.png"}', b"no picture", 415)):
            more = {} if reference is None else {"original_ref": reference}
            self.assertEqual(self.server.upload("/upload/mask", more, "n.png", data).status, status, reference)

    def test_models(self):
        self.assertEqual(self.get("/models").json[:3], ["checkpoints", "configs", "loras"])
        self.assertEqual(self.get("/models/loras").json, ["sub/tiny.safetensors"])
        self.assertEqual(self.get("/embeddings").json, ["sub/bar"])
        for path in ("/models/nope", "/models/unet", "/models/", "/view_metadata/loras", "/view_metadata/loras?filename=../x.safetensors",
                     "/experiment/models/nope", "/experiment/models/preview/loras/0/sub/tiny.safetensors"):
            self.get(path, 404)
        self.get("/experiment/models/preview/loras/9/x", 400)
        self.assertEqual(self.get("/experiment/models/loras").json[0]["name"], "sub/tiny.safetensors")
        self.put("models/loras/sub/tiny.preview.png", png(4, 4))
        self.assertEqual(self.get("/experiment/models/preview/loras/0/sub%2Ftiny.safetensors").headers["Content-Type"], "image/webp")

    def test_settings(self):
        self.assertEqual(self.get("/settings/Comfy.X").json, None)
        self.post("/settings", {"Comfy.X": 1, "Comfy.Y": {"a": [True, None]}})
        self.post("/settings/Comfy.Z", '"text"')
        self.assertEqual(self.get("/settings").json, {"Comfy.X": 1, "Comfy.Y": {"a": [True, None]}, "Comfy.Z": "text"})
        self.post("/settings/Comfy.Q", "{", 400)
        self.post("/settings", "[1]", 400)

    def test_userdata(self):
        self.assertEqual(self.post("/userdata/workflows%2Fa.json", "{}").json, "workflows/a.json")
        info = self.post("/api/userdata/workflows%2Fsub%2Fd.json?full_info=true", "12").json
        self.assertEqual((info["path"], info["size"]), ("workflows/sub/d.json", 2))
        self.post("/userdata/workflows%2Fa.json?overwrite=false", "x", 409)
        self.assertEqual(self.get("/userdata/workflows%2Fa.json").body, b"{}")
        self.assertEqual(self.get("/userdata?dir=workflows&recurse=true").json, ["a.json", "sub/d.json"])
        self.assertEqual(self.get("/userdata?dir=workflows").json, ["a.json"])
        self.assertEqual(self.get("/userdata?dir=workflows&recurse=true&split=true").json, [["a.json", "a.json"], ["sub/d.json", "sub", "d.json"]])
        self.assertEqual([e["name"] for e in self.get("/v2/userdata?path=workflows").json], ["sub", "a.json", "d.json"])
        self.assertEqual(self.post("/userdata/workflows%2Fa.json/move/workflows%2Fb.json", "").json, "workflows/b.json")
        self.get("/userdata/workflows%2Fa.json", 404)
        for method, path, status in (("GET", "/userdata", 400), ("GET", "/userdata?dir=none", 404), ("GET", "/userdata?dir=../..", 403),
                                     ("GET", "/userdata/..%2F..%2Fx", 403), ("GET", "/userdata/%2Fetc%2Fpasswd", 403), ("GET", "/userdata/workflows", 403),
                                     ("POST", "/userdata/workflows", 400), ("POST", "/userdata/..%2Fx", 403), ("DELETE", "/userdata/workflows", 400),
                                     ("POST", "/userdata/a/b", 405), ("DELETE", "/userdata/none", 404), ("PUT", "/userdata/x", 405),
                                     ("POST", "/userdata/workflows%2Fb.json/move/..%2F..%2Fq", 403), ("GET", "/v2/userdata?path=zz", 404)):
            self.assertEqual(self.server.request(method, path, b"" if method == "POST" else None).status, status, path)
        self.assertEqual(self.server.request("DELETE", "/userdata/workflows%2Fb.json").status, 204)

    def test_users(self):
        with Server(PROGRAM, "multi_user") as server:
            self.assertEqual(server.get("/settings").status, 401)
            identity = server.post("/users", {"username": "Ann Lee!"}).json
            self.assertTrue(identity.startswith("Ann-Lee-_"))
            self.assertEqual(server.post("/users", {"username": "Ann Lee!"}).status, 400)
            self.assertEqual(server.post("/users", {"username": " "}).status, 400)
            self.assertEqual(server.get("/users").json["users"], {identity: "Ann Lee!"})
            self.assertEqual(server.get("/settings", headers={"Comfy-User": identity}).json, {})
            self.assertEqual(server.get("/userdata?dir=.", headers={"Comfy-User": "../x"}).status, 401)

    def test_the_built_in_page(self):
        page = self.get("/")
        self.assertIn(b"<title>Veneer</title>", page.body)
        self.assertEqual(page.headers["Cache-Control"], "no-cache")
        for path in ("/page.js", "/page.css"):
            self.get(path)
        self.get("/nope.png", 404)

    def test_an_installed_editor_is_served(self):
        with Server(PROGRAM) as server:
            folder = os.path.join(server.base, "data", "frontend")
            os.makedirs(os.path.join(folder, "extensions", "core"))
            for name, text in (("index.html", "<p>editor"), ("a.mjs", "1"), ("extensions/core/x.js", "2")):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            self.assertEqual(server.get("/").body, b"<p>editor")
            self.assertEqual(server.get("/a.mjs").headers["Content-Type"], "application/javascript")
            self.assertEqual(server.get("/extensions").json, ["/extensions/core/x.js"])

    def test_operations(self):
        self.assertEqual(self.get("/health").json, {"status": "ok"})
        self.assertEqual(self.get("/ready").json, {"status": "ready"})
        self.server.wait(self.post("/prompt", {"prompt": simple_prompt(77)}).json["prompt_id"])
        text = self.get("/metrics").body.decode()
        for name in ("veneer_jobs_total{state=\"succeeded\"}", "veneer_job_wait_seconds_bucket", "veneer_node_seconds_count{class=\"SaveImage\"}",
                     "veneer_resident_weight_bytes", "veneer_queue_waiting 0"):
            self.assertIn(name, text)
        self.assertIn("resident_bytes", self.get("/memory").json)
        stats = self.get("/system_stats").json
        self.assertIsInstance(stats["system"]["argv"], list)
        self.assertEqual(stats["devices"][0]["type"], "cpu")

    def test_answers_are_compressed_for_those_who_accept_it(self):
        with Server(PROGRAM, "compress") as server:
            answer = server.get("/object_info", headers={"Accept-Encoding": "gzip"})
            self.assertEqual(answer.headers["Content-Encoding"], "gzip")
            self.assertEqual(json.loads(zlib.decompress(answer.body, 31)), server.get("/object_info").json)
            self.assertNotIn("Content-Encoding", server.get("/object_info", headers={"Accept-Encoding": "gzip;q=0"}).headers)

    def test_no_route_answers_nonsense_with_a_500(self):
        with Server(PROGRAM) as server:
            self.send_nonsense(server)

    def send_nonsense(self, server):
        description = server.get("/openapi.json").json
        self.assertIn("/userdata/{file}/move/{dest}", description["paths"])
        for path, methods in description["paths"].items():
            for value in ("x", "%00", "..", "%2e%2e%2f", "\u00fc".encode().hex(), "9" * 400, "%ff"):
                filled = path
                while "{" in filled:
                    filled = filled[:filled.index("{")] + value + filled[filled.index("}") + 1:]
                for method, operation in methods.items():
                    query = "&".join(f"{p['name']}={value}" for p in operation["parameters"] if p["in"] == "query")
                    for body in ((None,) if method == "get" else ("", "{}", "[]", "null", '{"delete": 3, "job_ids": [1], "prompt": [], "username": 5}')):
                        if path in ("/free", "/interrupt", "/users") and method == "post" and body not in ("", "[]"):
                            continue
                        answer = server.request(method.upper(), filled + ("?" + query if query else ""), body)
                        self.assertLess(answer.status, 500, (method, filled, query, body, answer.body[:200]))

    def test_internal_routes(self):
        self.assertIn("rgb.png", self.get("/internal/files/output").json)
        self.get("/internal/files/models", 400)
        self.assertIn("loras", self.get("/internal/folder_paths").json)
        self.assertIn("entries", self.get("/internal/logs/raw").json)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
