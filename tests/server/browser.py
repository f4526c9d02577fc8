"""Chromium without a window, driven over its DevTools protocol with the web socket of client.py."""

import base64
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from client import Socket


def find_chromium():
    for name in (os.environ.get("VENEER_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name) if name else None
        if path:
            return path
    return None


class Browser:
    """One page. `errors` gathers what the console says of errors, exceptions among them."""

    def __init__(self, program, width=1600, height=1000):
        self.profile = tempfile.mkdtemp(prefix="veneer_chromium_")
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-port=0",
                   f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        port = None
        for line in self.process.stderr:
            found = re.search(r"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line)
            if found:
                port = int(found.group(1))
                break
        if port is None:
            raise RuntimeError("chromium did not start")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/json/list")
        page = next(target for target in json.loads(connection.getresponse().read()) if target["type"] == "page")
        connection.close()
        self.socket = Socket(port, page["webSocketDebuggerUrl"].split(str(port), 1)[1])
        self.number, self.errors = 0, []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, timeout=120, **parameters):
        self.number += 1
        number = self.number
        self.socket.send({"id": number, "method": method, "params": parameters})
        end = time.time() + timeout
        while True:
            message = self.socket.next(max(0.1, end - time.time()))
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.hear(message)

    def hear(self, message):
        kind, data = message.get("method"), message.get("params", {})
        if kind == "Runtime.consoleAPICalled" and data["type"] in ("error", "assert"):
            self.errors.append("console: " + " ".join(str(a.get("value", a.get("description", ""))) for a in data["args"]))
        elif kind == "Runtime.exceptionThrown":
            details = data["exceptionDetails"]
            self.errors.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif kind == "Log.entryAdded" and data["entry"]["level"] == "error":
            self.errors.append(f"log: {data['entry']['text']} {data['entry'].get('url', '')}")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"].get("exception", {}).get("description", result["exceptionDetails"]["text"])))
        return result["result"].get("value")

    def until(self, expression, timeout=120):
        """The value of the expression once it is true."""
        end = time.time() + timeout
        while True:
            value = self.evaluate(f"(() => {{ try {{ return {expression} }} catch (error) {{ return null }} }})()")
            if value:
                return value
            if time.time() > end:
                raise TimeoutError(expression)
            time.sleep(0.2)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
