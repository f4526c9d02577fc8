"""Hosts, origins, keys, paths, sizes, and clients that do not behave."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from client import Server, simple_prompt, slow_prompt, trusting_context

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
KEY = "a-key-that-is-long-enough"


def raw(server, data, timeout=60):
    """What the server answers to bytes, until it closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as connection:
        try:
            connection.sendall(data)
            out = b""
            while True:
                piece = connection.recv(65536)
                if not piece:
                    return out
                out += piece
        except (socket.timeout, ConnectionError):
            return out


class Security(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM).start()
        for name in ("output", "input"):
            with open(os.path.join(cls.server.base, name, "page.html"), "w") as file:
                file.write("<script>alert(1)</script>")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def status(self, **headers):
        return self.server.get("/prompt", headers={k.replace("_", "-"): v for k, v in headers.items()}).status

    def test_pages_of_other_origins_are_refused(self):
        own = f"127.0.0.1:{self.server.port}"
        self.assertEqual(self.status(Origin=f"http://{own}"), 200)
        self.assertEqual(self.status(Origin=f"https://{own}"), 200)
        self.assertEqual(self.status(Origin="http://127.0.0.1"), 200)
        self.assertEqual(self.status(Origin="null"), 403)
        self.assertEqual(self.status(Origin="http://evil.example"), 403)
        self.assertEqual(self.status(Origin="http://127.0.0.1:1"), 403)
        self.assertEqual(self.status(Origin="http://localhost"), 403)
        self.assertEqual(self.server.post("/prompt", "{}", headers={"Origin": "http://evil.example"}).status, 403)
        self.assertEqual(self.server.request("OPTIONS", "/prompt", headers={"Origin": "http://evil.example"}).status, 403)
        self.assertEqual(self.server.socket("o", headers=[("Origin", "http://evil.example")]).status, 403)

    def test_pages_without_an_origin_of_their_own_are_refused_whatever_the_method(self):
        for headers in ({"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null", "Sec-Fetch-Site": "same-site"}):
            for method in ("GET", "POST", "DELETE", "OPTIONS"):
                self.assertEqual(self.server.request(method, "/queue", "{}" if method == "POST" else None, headers).status, 403, (method, headers))
            self.assertEqual(self.server.socket("o", headers=list(headers.items())).status, 403, headers)
        own = {"Origin": f"http://127.0.0.1:{self.server.port}", "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(self.server.post("/queue", "{}", headers=own).status, 200)
        self.assertEqual(self.server.socket("o", headers=list(own.items())).status, 101)

    def test_requests_that_could_be_read_in_two_ways_are_refused(self):
        host = b"Host: 127.0.0.1\r\n"
        for head, status in ((host + b"Transfer-Encoding: gzip\r\n", 501), (host + b"Transfer-Encoding: gzip, chunked\r\n", 501),
                             (host + b"Content-Encoding: gzip\r\nContent-Length: 0\r\n", 415), (b"", 400), (host + host, 400)):
            answer = raw(self.server, b"POST /queue HTTP/1.1\r\n" + head + b"\r\n")
            self.assertIn(b" %d " % status, answer.split(b"\r\n")[0], head)
            self.assertIn(b"Connection: close", answer)
            self.assertIn("error", json.loads(answer.split(b"\r\n\r\n", 1)[1]))
        chunked = b"POST /queue HTTP/1.1\r\nConnection: close\r\n" + host + b"Transfer-Encoding: Chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        self.assertIn(b" 200 ", raw(self.server, chunked).split(b"\r\n")[0])

    def test_bodies_that_break_their_chunks_are_answered(self):
        head = b"POST /queue HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        for body in (b"zz\r\n{}\r\n0\r\n\r\n", b"2\r\n{}}}\r\n0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"ffffffffffffffffffff\r\n{}\r\n", b"2;=x\r\n{}\r\n0\r\n\r\n"):
            answer = raw(self.server, head + body)
            self.assertIn(b" 400 ", answer.split(b"\r\n")[0], body)
            self.assertIn(b"Connection: close", answer)
            self.assertEqual(json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]["type"], "invalid_http")

    def test_headers_that_decide_come_once(self):
        own = b"Origin: http://127.0.0.1:%d\r\n" % self.server.port
        socket_ = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        for path, lines in ((b"/queue", own + b"Origin: http://evil.example\r\n"), (b"/ws", socket_ + own + b"origin: http://evil.example\r\n"),
                            (b"/ws", socket_ + own + own), (b"/ws", socket_ + b"Host: evil.example\r\n"), (b"/queue", b"X-API-Key: a\r\nX-API-Key: b\r\n"),
                            (b"/queue", b"Authorization: Bearer a\r\n" * 2)):
            answer = raw(self.server, b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + lines + b"\r\n")
            self.assertIn(b" 400 ", answer.split(b"\r\n")[0], lines)
            self.assertIn("error", json.loads(answer.split(b"\r\n\r\n", 1)[1]))

    def test_what_comes_right_behind_a_handshake_is_read(self):
        text = b'{"type": "feature_flags", "data": {}}'
        frame = bytes([0x81, 0x80 | len(text)]) + bytes(4) + text
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=10) as connection:
            connection.sendall(b"GET /ws?clientId=quick HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n" + frame)
            got = b""
            while b"feature_flags" not in got:
                piece = connection.recv(65536)
                self.assertTrue(piece, got)
                got += piece
        self.assertIn(b"Server: Veneer\r\n", got)

    def test_broken_handshakes_are_answered_with_json(self):
        for lines, status in ((b"Sec-WebSocket-Version: 13\r\n", 400), (b"Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n", 400),
                              (b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 7\r\n", 426)):
            answer = raw(self.server, b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + lines + b"\r\n")
            self.assertIn(b" %d " % status, answer.split(b"\r\n")[0], lines)
            self.assertIn(b"Server: Veneer\r\n", answer)
            self.assertIn("error", json.loads(answer.split(b"\r\n\r\n", 1)[1]))

    def test_pictures_of_too_many_pixels_are_not_converted(self):
        with open(os.path.join(self.server.base, "output", "huge.png"), "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x40\0\0\0\x40\0\x08\x02\0\0\0" + bytes(16))
        for query in ("preview=webp", "channel=a", "channel=rgb"):
            answer = self.server.get("/view?filename=huge.png&" + query)
            self.assertEqual((answer.status, answer.json["error"]["type"]), (400, "too_large"), query)

    def test_errors_do_not_tell_where_folders_lie(self):
        with open(os.path.join(self.server.base, "output", "text.png"), "w") as file:
            file.write("no picture")
        with open(os.path.join(self.server.base, "input", "text.png"), "w") as file:
            file.write("no picture")
        answer = self.server.get("/view?filename=text.png&preview=webp")
        self.assertGreaterEqual(answer.status, 400)
        self.assertNotIn(self.server.base.encode(), answer.body)
        self.assertIn(b"output/text.png", answer.body)
        prompt = {"1": {"class_type": "LoadImage", "inputs": {"image": "text.png"}}, "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}}
        answer = self.server.post("/prompt", {"prompt": prompt})
        self.assertNotIn(self.server.base.encode(), answer.body)
        if answer.status == 200:
            status = self.server.wait(answer.json["prompt_id"])["status"]
            self.assertEqual(status["status_str"], "error")
            self.assertNotIn(self.server.base, json.dumps(status))

    def test_relative_folders_and_logs_tell_no_more(self):
        base = tempfile.mkdtemp(prefix="veneer_relative_")
        self.addCleanup(shutil.rmtree, base, True)
        relative = os.path.relpath(base)
        self.assertNotEqual(relative, base)
        with Server(PROGRAM, base=relative) as server:
            folder = os.path.join(base, "models", "checkpoints")
            os.makedirs(folder)
            for name in ("input/text.png", "output/text.png", "models/checkpoints/bad.safetensors"):
                with open(os.path.join(base, name), "w") as file:
                    file.write("no picture and no model")
            loader = {"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "bad.safetensors"}},
                      "2": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
                      "3": {"class_type": "VAEDecode", "inputs": {"samples": ["2", 0], "vae": ["1", 2]}},
                      "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}}
            load = {"1": {"class_type": "LoadImage", "inputs": {"image": "text.png"}}, "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}}
            answers = [server.get("/view?filename=text.png&preview=webp"),
                       server.post("/model/load", {"model_name": "bad.safetensors", "type": "checkpoints"}),
                       server.post("/v1/load_lora_adapter", {"lora_name": "x", "base_model": "bad.safetensors", "adapters": []})]
            for prompt in (loader, load):
                posted = server.post("/prompt", {"prompt": prompt})
                answers.append(posted)
                if posted.status == 200:
                    self.assertEqual(server.wait(posted.json["prompt_id"])["status"]["status_str"], "error")
            answers += [server.get(path) for path in ("/history", "/jobs", "/internal/logs", "/internal/logs/raw", "/model/loaded", "/memory")]
            for answer in answers:
                for name in (base, relative, os.path.realpath(base)):
                    self.assertNotIn(name.encode(), answer.body)
            self.assertIn("models/checkpoints/bad.safetensors", answers[1].body.decode())
            self.assertIn("models/checkpoints/bad.safetensors", server.get("/internal/logs").body.decode())

    def test_the_page_cannot_be_framed(self):
        self.assertIn("frame-ancestors 'none'", self.server.get("/").headers["Content-Security-Policy"])

    def test_names_that_no_file_can_have_are_refused(self):
        long, path = "n" * 300 + ".png", "a/" * 2100 + "b"
        ref = json.dumps({"filename": long})
        for answer, rule in ((self.server.upload("/upload/image", {}, long, b"x"), "255 bytes"), (self.server.upload("/upload/image", {"subfolder": path}, "a", b"x"), "4095"),
                             (self.server.post("/userdata/" + long, "x"), "255 bytes"), (self.server.get("/view?filename=" + long), "255 bytes"),
                             (self.server.post("/userdata/a%00b", "x"), "zero byte"), (self.server.get("/userdata/a%2500b"), "zero byte"),
                             (self.server.get("/userdata?dir=a%00b"), "zero byte"), (self.server.get("/v2/userdata?path=a%00b"), "zero byte"),
                             (self.server.upload("/upload/mask", {"original_ref": ref}, "a.png", b"x"), "255 bytes")):
            self.assertEqual((answer.status, answer.json["error"]["type"]), (400, "invalid_name"), rule)
            self.assertIn(rule, answer.json["error"]["message"])

    def test_names_that_are_not_this_machine_are_refused(self):
        self.assertEqual(self.status(Host="rebound.example"), 403)
        self.assertEqual(self.status(Host="localhost:1"), 200)
        self.assertEqual(self.status(Host="[::1]:1"), 200)
        self.assertEqual(self.status(Host="127.evil.example"), 403)
        self.assertEqual(self.status(Host="a b:c"), 400)

    def test_keys_are_asked_for(self):
        with Server(PROGRAM, "key=" + KEY) as server:
            self.assertEqual(server.get("/prompt").status, 401)
            self.assertEqual(server.get("/").status, 401)
            self.assertEqual(server.get("/health").status, 200)
            for headers in ({"Authorization": "Bearer " + KEY}, {"X-API-Key": KEY}, {"Authorization": "Basic eDphLWtleS10aGF0LWlzLWxvbmctZW5vdWdo"}):
                self.assertEqual(server.get("/prompt", headers=headers).status, 200, headers)
            for wrong in ("", KEY[:-1], KEY + "x"):
                self.assertEqual(server.get("/prompt", headers={"Authorization": "Bearer " + wrong}).status, 401)
            self.assertEqual(server.get("/prompt?api_key=" + KEY).status, 401)
            self.assertEqual(server.socket("k").status, 401)
            self.assertEqual(server.socket("k", path=f"/ws?api_key={KEY}&x=").status, 101)

    def test_files_outside_of_their_folder_are_refused(self):
        os.symlink("/etc", os.path.join(self.server.base, "output", "link"))
        for query, status in (("filename=passwd&subfolder=link", 403), ("filename=passwd&subfolder=../../../../etc", 403),
                              ("filename=passwd&subfolder=/etc", 403), ("filename=../../etc/passwd", 400), ("filename=%2e%2e%2fx", 400),
                              ("filename=/etc/passwd", 400), ("filename=a%00.png", 404), ("filename=passwd&subfolder=%00", 404),
                              ("filename=passwd&subfolder=..%5C..", 404)):
            self.assertEqual(self.server.get("/view?" + query).status, status, query)
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%2f..%2fetc%2fpasswd"):
            self.assertIn(self.server.get(path).status, (403, 404), path)

    def test_what_a_browser_would_run_is_saved_instead(self):
        answer = self.server.get("/view?filename=page.html")
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertTrue(answer.headers["Content-Disposition"].startswith("attachment"))
        self.assertEqual(answer.headers["Content-Type"], "application/octet-stream")

    def test_uploads_stay_in_their_folder(self):
        for fields, filename in (({"subfolder": "../out"}, "u.png"), ({"subfolder": "/tmp"}, "u.png"), ({}, "../evil.png"), ({}, "/tmp/evil.png"),
                                 ({}, ".."), ({"type": "zzz"}, "u.png"), ({}, "")):
            self.assertEqual(self.server.upload("/upload/image", fields, filename, b"x").status, 400, (fields, filename))
        os.symlink("/tmp", os.path.join(self.server.base, "input", "away"))
        self.assertEqual(self.server.upload("/upload/image", {"subfolder": "away"}, "veneer_evil.png", b"x").status, 400)
        self.assertFalse(os.path.exists("/tmp/veneer_evil.png"))

    def test_large_bodies_are_refused_before_they_are_read(self):
        with Server(PROGRAM, "max_upload_mb=0.01") as server:
            self.assertEqual(server.upload("/upload/image", {}, "a.png", b"x" * 9000).status, 200)
            self.assertEqual(server.upload("/upload/image", {}, "a.png", b"x" * 20000).status, 413)
            head = b"POST /prompt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n"
            self.assertIn(b" 413 ", raw(server, head).split(b"\r\n")[0])
            chunked = b"POST /prompt HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"1000\r\n" + b"x" * 4096 + b"\r\n") * 4
            self.assertIn(b" 413 ", raw(server, chunked).split(b"\r\n")[0])

    def test_hostile_json_is_refused(self):
        for body in ("", "{", "[" * 100000, '{"a":' * 5000, "\xff\xfe", '{"prompt": ' + "[" * 70 + "]" * 70 + "}", "nul", '{"prompt": {"1": {"class_type": '
                     '"EmptyImage", "inputs": {"width": 1e999}}}}'):
            answer = self.server.post("/prompt", body.encode("latin-1"))
            self.assertEqual(answer.status, 400, body[:40])
            self.assertIn("error", answer.json)

    def test_broken_http_is_refused(self):
        for data in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nA" * 3 + b"\r\n\r\n"):
            self.assertIn(raw(self.server, data).split(b"\r\n")[0].split(b" ")[1:2], ([b"400"], []), data)
        self.assertIn(b" 431 ", raw(self.server, b"GET / HTTP/1.1\r\nA: " + b"x" * 100000 + b"\r\n\r\n").split(b"\r\n")[0])
        self.assertEqual(self.server.get("/health").status, 200)

    def test_a_client_that_never_reads_is_dropped_and_costs_the_others_nothing(self):
        with Server(PROGRAM, "client_buffer=200000") as server:
            deaf = server.socket("deaf")
            deaf.next()
            deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            identity = server.post("/prompt", {"prompt": slow_prompt(9000, 0, 5), "client_id": "deaf"}).json["prompt_id"]
            self.assertEqual(server.wait(identity, 300)["status"]["status_str"], "success")
            end = time.time() + 300
            while "veneer_websockets 0" not in server.get("/metrics").body.decode():
                self.assertLess(time.time(), end)
                time.sleep(0.1)

    def test_a_slow_request_does_not_stop_others(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as slow:
            slow.sendall(b"POST /prompt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
            self.assertEqual(self.server.get("/health").status, 200)

    def test_large_web_socket_messages_end_the_socket(self):
        large = self.server.socket("large")
        large.next()
        with self.assertRaises((ConnectionError, OSError)):
            large.send_bytes(b"x" * (5 << 20))
            large.next(10)
            large.next(10)

    def test_errors_are_json(self):
        for method, path in (("GET", "/nope"), ("POST", "/nope"), ("GET", "/models/nope"), ("DELETE", "/prompt"), ("GET", "/ws"),
                             ("POST", "/upload/image"), ("PUT", "/userdata/x")):
            answer = self.server.request(method, path)
            self.assertIn("error", answer.json, (method, path))
            self.assertLess(answer.status, 500)

    def test_secrets_are_not_kept(self):
        extra = {"auth_token_comfy_org": "SECRET", "api_key_comfy_org": "SECRET"}
        identity = self.server.post("/prompt", {"prompt": simple_prompt(1), "extra_data": extra}).json["prompt_id"]
        self.server.wait(identity)
        self.assertNotIn(b"SECRET", self.server.get(f"/history/{identity}").body)
        for name in os.listdir(os.path.join(self.server.base, "data")):
            path = os.path.join(self.server.base, "data", name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.assertNotIn(b"SECRET", file.read(), name)

    def test_tls(self):
        folder = tempfile.mkdtemp()
        certificate, key = os.path.join(folder, "c.pem"), os.path.join(folder, "k.pem")
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                               "/CN=localhost", "-keyout", key, "-out", certificate], capture_output=True)
        if made.returncode != 0:
            self.skipTest("openssl cannot make a certificate here")
        with Server(PROGRAM, "cert=" + certificate, "tls_key=" + key) as server:
            server.context = trusting_context()
            self.assertEqual(server.get("/health").json, {"status": "ok"})
            socket_ = server.socket("tls")
            self.assertEqual(socket_.next()["data"]["sid"], "tls")
            identity = server.post("/prompt", {"prompt": simple_prompt(3), "client_id": "tls"}).json["prompt_id"]
            self.assertEqual(socket_.until_done(identity)[-1]["data"]["node"], None)
            self.assertEqual(raw(server, b"GET / HTTP/1.1\r\n\r\n")[:4] == b"HTTP", False)

    def test_cors_headers_when_asked_for(self):
        with Server(PROGRAM, "cors=https://app.example") as server:
            answer = server.get("/prompt", headers={"Origin": "https://other.example"})
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (200, "https://app.example"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
