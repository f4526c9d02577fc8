"""A small client of the server's protocol, on the standard library alone, and a server to talk to."""

import base64
import http.client
import json
import os
import select
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import time


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Socket:
    """A web socket. Text frames arrive parsed, binary ones as bytes."""

    def __init__(self, port, path="/ws", headers=(), context=None):
        raw = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket = context.wrap_socket(raw) if context else raw
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"] + [f"{k}: {v}" for k, v in headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            data = self.socket.recv(65536)
            if not data:
                break
            self.buffer += data
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.head = head.decode(errors="replace")
        self.status = int(self.head.split(" ")[1])

    def _read(self, count):
        while len(self.buffer) < count:
            data = self.socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the server closed the web socket")
            self.buffer += data
        out, self.buffer = self.buffer[:count], self.buffer[count:]
        return out

    def next(self, timeout=60):
        """The next message; raises TimeoutError."""
        self.socket.settimeout(timeout)
        parts, kind = b"", 0
        while True:
            first, second = self._read(2)
            length = second & 127
            if length == 126:
                length = struct.unpack(">H", self._read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self._read(8))[0]
            data = self._read(length)
            opcode = first & 15
            if opcode in (0, 1, 2):
                # A long message may come in several frames.
                parts, kind = parts + data, opcode or kind
                if not first & 128:
                    continue
                return json.loads(parts) if kind == 1 else parts
            if opcode == 8:
                raise ConnectionError("the server closed the web socket")
            if opcode == 9:
                self._send(10, data)

    def _send(self, opcode, data):
        mask = os.urandom(4)
        length = len(data)
        head = bytes([128 | opcode])
        if length < 126:
            head += bytes([128 | length])
        elif length < 65536:
            head += bytes([254]) + struct.pack(">H", length)
        else:
            head += bytes([255]) + struct.pack(">Q", length)
        repeated = (mask * (length // 4 + 1))[:length]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(length, "big") if length else b""
        self.socket.sendall(head + mask + masked)

    def send(self, value):
        self._send(1, value.encode() if isinstance(value, str) else json.dumps(value).encode())

    def send_bytes(self, value):
        self._send(2, value)

    def until_done(self, prompt_id, timeout=180):
        """All messages up to the end of the prompt."""
        seen = []
        end = time.time() + timeout
        while True:
            message = self.next(max(0.1, end - time.time()))
            seen.append(message)
            if isinstance(message, dict) and message["type"] == "executing":
                if message["data"]["node"] is None and message["data"]["prompt_id"] == prompt_id:
                    return seen

    def drain(self, quiet=0.3, until=None, timeout=60):
        """Messages until none has come for a while; first those until a condition on them is true, however long they take."""
        seen = []
        end = time.time() + timeout
        while until and not until(seen) and time.time() < end:
            try:
                seen.append(self.next(max(0.1, end - time.time())))
            except (TimeoutError, socket.timeout):
                return seen
        while True:
            try:
                seen.append(self.next(quiet))
            except (TimeoutError, socket.timeout):
                return seen

    def close(self):
        self.socket.close()


class Server:
    """A server process over a folder of its own; ends with the context."""

    def __init__(self, program, *options, base=None, env=None):
        self.program, self.options, self.own = program, options, base is None
        self.base = base or tempfile.mkdtemp(prefix="veneer_server_")
        self.env = dict(os.environ, OMP_WAIT_POLICY="passive", **(env or {}))
        self.context = None
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.program, self.base, *self.options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env)
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline().decode() if ready else ""
        if not line.startswith("port "):
            raise RuntimeError(f"the server did not start: {line!r}")
        self.port = int(line.split()[1])
        return self

    def stop(self):
        if self.process is None:
            return 0
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        self.process = None
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process:
            self.stop()
        if self.own:
            shutil.rmtree(self.base, ignore_errors=True)

    def request(self, method, path, body=None, headers=None, timeout=180):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        if self.context:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    def upload(self, path, fields, filename="a.png", data=b"", field="image", **more):
        boundary = "veneertestboundary"
        parts = []
        for name, value in fields.items():
            parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
        if field:
            parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"; filename="{filename}"\r\n'.encode()
                         + b"Content-Type: image/png\r\n\r\n" + data + b"\r\n")
        body = b"".join(parts) + f"--{boundary}--\r\n".encode()
        return self.request("POST", path, body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}, **more)

    def socket(self, client_id=None, path="/ws", **more):
        made = Socket(self.port, path + (f"?clientId={client_id}" if client_id is not None else ""), context=self.context, **more)
        return made

    def wait(self, prompt_id, timeout=180):
        """The history's entry of a prompt that ends within the time."""
        end = time.time() + timeout
        while time.time() < end:
            history = self.get(f"/history/{prompt_id}").json
            if prompt_id in history:
                return history[prompt_id]
            time.sleep(0.02)
        raise TimeoutError(prompt_id)


def trusting_context():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def simple_prompt(color=0, width=16, height=12, prefix="t"):
    return {"1": {"class_type": "EmptyImage", "inputs": {"width": width, "height": height, "batch_size": 1, "color": color}},
            "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": prefix}}}


def slow_prompt(steps=100, delay=0.05, salt=0, preview="none"):
    return {"1": {"class_type": "EmptyImage", "inputs": {"width": 16, "height": 12, "batch_size": 1, "color": 0}},
            "2": {"class_type": "RecProgress", "inputs": {"image": ["1", 0], "steps": steps, "delay": delay, "preview": preview, "salt": salt}},
            "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}}
