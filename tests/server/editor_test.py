"""The stock editor in Chromium: it loads, runs a workflow on the demo model, shows its progress and the picture. Screenshots are kept in the folder
that VENEER_SCREENSHOTS names. Needs chromium and the editor's package: a wheel that VENEER_FRONTEND_WHEEL names, or one that `veneer frontend install`
put into the default data folder. Without them it says so and exits with 77."""

import glob
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from browser import Browser, find_chromium

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]

# What the console says against the reference server too: files that may be missing, and pages outside of the machine.
EXPECTED = [r"userdata|/user\.css|user\.css|/templates/|/docs/", r"https://(api\.comfy\.org|huggingface\.co|.*\.comfy\.org)", r"net::ERR_(NAME|INTERNET|NETWORK)",
            r"Failed to fetch releases|Network Error|AxiosError", r"/favicon\.ico",
            r"reading 'id'\)(.|\n)*addSetting"]  # the editor 1.27 sets a setting before it is registered, whatever the server


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def request(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, None if body is None else json.dumps(body))
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def install_editor(data):
    wheel = os.environ.get("VENEER_FRONTEND_WHEEL")
    if wheel:
        subprocess.run([PROGRAM, "frontend", "install", wheel, "--data", data], check=True, stdout=subprocess.DEVNULL)
        return
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    for place in glob.glob(os.path.join(home, "veneer", "frontend")):
        if os.path.isfile(os.path.join(place, "index.html")):
            shutil.copytree(place, os.path.join(data, "frontend"))
            return
    skip("the editor's package is not there: name its wheel (comfyui-frontend-package of PyPI) in VENEER_FRONTEND_WHEEL")


def start_server(folder):
    command = [PROGRAM, "serve", "--models", os.path.join(SOURCE, "models", "demo"), "--port", "0"]
    for name in ("data", "input", "output"):
        command += ["--" + name, os.path.join(folder, name)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    for line in process.stderr:
        found = re.search(r'"?port"?[=:](\d+)', line)
        if found:
            return process, int(found.group(1))
    raise RuntimeError("the server did not start")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


APP = "(window.app || window.comfyAPI.app.app)"
RUN = "[...document.querySelectorAll('button')].find(b => b.innerText.trim() === 'Run' && b.offsetParent)"


def drive(browser, port, prompt, screenshots):
    begin = time.time()
    browser.call("Page.navigate", url=f"http://127.0.0.1:{port}/")
    browser.until(f"{APP}.graph._nodes.length", 240)
    print(f"loaded after {time.time() - begin:.1f} s")
    browser.evaluate(f"{APP}.loadApiJson({json.dumps(prompt)}, 'demo')")
    browser.until(f"{APP}.graph._nodes.length === {len(prompt)} && !!{RUN}")
    browser.evaluate("document.querySelector('[aria-label^=\"Fit View\"]')?.click()")
    time.sleep(1)  # the view moves there
    browser.screenshot(os.path.join(screenshots, "1-loaded.png"))
    check(f"{APP}.graph._nodes.find(n => n.type === 'CheckpointLoaderSimple')", "the graph has a checkpoint")
    browser.evaluate(f"{RUN}.click()")
    browser.until("/[0-9]+%/.test(document.title)")
    browser.until(f"{APP}.graph._nodes.some(n => n.type === 'KSampler' && n.progress > 0.2)")
    browser.screenshot(os.path.join(screenshots, "2-progress.png"))
    browser.until(f"{APP}.graph._nodes.find(n => n.type === 'SaveImage').imgs?.length", 300)
    browser.until("!/[0-9]+%/.test(document.title)")
    browser.screenshot(os.path.join(screenshots, "3-picture.png"))
    shown = browser.evaluate(f"{APP}.graph._nodes.find(n => n.type === 'SaveImage').imgs[0].src")
    size = browser.evaluate(f"(i => [i.naturalWidth, i.naturalHeight])({APP}.graph._nodes.find(n => n.type === 'SaveImage').imgs[0])")
    history = json.loads(request(port, "GET", "/history")[1])
    check(len(history) == 1, "one job ran")
    entry = next(iter(history.values()))
    check(entry["status"]["status_str"] == "success", entry["status"])
    image = entry["outputs"]["7"]["images"][0]
    check(f"filename={image['filename']}" in shown, f"the editor shows {shown}")
    check(size == [128, 128], f"the picture has {size}")
    check("workflow" in entry["prompt"][3]["extra_pnginfo"], "the picture carries the editor's graph")


def main():
    chromium = find_chromium()
    if chromium is None:
        skip("chromium is not there")
    folder = tempfile.mkdtemp(prefix="veneer_editor_")
    process = browser = None
    try:
        install_editor(os.path.join(folder, "data"))
        process, port = start_server(folder)
        # A first visit opens the template dialog over the graph.
        check(request(port, "POST", "/settings/Comfy.TutorialCompleted", True)[0] == 200, "a setting is stored")
        with open(os.path.join(SOURCE, "workflows", "txt2img.json")) as file:
            prompt = json.load(file)
        prompt["5"]["inputs"]["steps"] = 60
        screenshots = os.environ.get("VENEER_SCREENSHOTS") or folder
        os.makedirs(screenshots, exist_ok=True)
        browser = Browser(chromium)
        try:
            drive(browser, port, prompt, screenshots)
        except Exception:
            print("\n".join(browser.errors))
            browser.screenshot(os.path.join(screenshots, "9-failed.png"))
            raise
        unexpected = [error for error in browser.errors if not any(re.search(pattern, error) for pattern in EXPECTED)]
        check(not unexpected, "the console says:\n" + "\n".join(unexpected))
        print("ok,", len(browser.errors), "messages in the console, all expected")
    finally:
        if browser:
            browser.close()
        if process:
            process.terminate()
            process.wait(60)
            process.stderr.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
