"""Requests that were recorded with ComfyUI, sent to this server: same status, same members, same errors; the differences are listed here."""

import json
import os
import re
import sys
import unittest

from client import Server, simple_prompt
from routes_test_data import png

PROGRAM, SOURCE, SHARED = sys.argv[1], sys.argv[2], sys.argv[3]
RECORDINGS = os.path.join(SHARED, "api", "recordings")

# (group, name) -> the status here, where it differs from the recorded one on purpose; docs/api.md says why. A recorded 500 is always a 4xx here.
DEVIATIONS = {
    ("prompt_invalid", "link_negative_slot"): 400,
    ("prompt_invalid", "no_inputs_key"): 400,
    ("origin_checks", "host_not_loopback_other_origin"): 403,
    ("origin_checks", "null_origin"): 403,
    ("origin_checks", "sec_fetch_site_cross"): 403,
    ("queue", "list"): 400,
    ("upload", "filename_with_path"): 400,
    ("upload", "mask_ref_missing_file"): 404,
    ("upload", "mask_ref_traversal"): 403,
    ("upload_raw_names", "name_absolute"): 400,
    ("interrupt", "non_utf8"): 200,
}
# Checks of the testing pack, which refuses the same in words of its own.
OWN_WORDS = ("custom_validation_false", "custom_validation_kwargs")
# Members that hold lists without a stable order in the reference.
UNORDERED = ("errors", "dependent_outputs")


def has_unknown_class(value, known):
    """Whether a prompt has a node class that only the reference has; NoSuchNode is one that nobody has."""
    if isinstance(value, dict):
        name = value.get("class_type")
        unknown = isinstance(name, str) and name not in known and name != "NoSuchNode"
        return unknown or any(has_unknown_class(v, known) for v in value.values())
    return isinstance(value, list) and any(has_unknown_class(v, known) for v in value)


def is_placeholder(value):
    return isinstance(value, str) and (value == "..." or re.search("<[A-Z_]+(:[0-9]+)?>", value) is not None)


def in_order(key, value):
    if key in UNORDERED and isinstance(value, list):
        return sorted(value, key=lambda item: item if isinstance(item, str) else item.get("type", "") + item.get("details", ""))
    if key == "details" and isinstance(value, str):
        return "\n".join(sorted(value.split("\n")))
    return value


def differences(want, got, path=""):
    """What is missing or other than recorded. Members that are there besides are no difference; descriptions of inputs and tracebacks are not compared."""
    if is_placeholder(want):
        return []
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return [f"{path}: want an object, got {got!r:.80}"]
        out = []
        for key, value in want.items():
            if key in ("input_config", "traceback", "exception_message", "timestamp"):
                continue
            if is_placeholder(key):
                continue
            out += differences(in_order(key, value), in_order(key, got[key]), f"{path}/{key}") if key in got else [f"{path}/{key}: missing"]
        return out
    if isinstance(want, list):
        if not isinstance(got, list) or (len(want) != len(got) and "..." not in json.dumps(want)):
            return [f"{path}: want {want!r:.120}, got {got!r:.120}"]
        return [d for i, (w, g) in enumerate(zip(want, got)) for d in differences(w, g, f"{path}/{i}")]
    if isinstance(want, int) and abs(want) >= 2**64 and isinstance(got, float):
        return [] if float(want) == got else [f"{path}: want {want}, got {got}"]  # beyond 64 bits the nearest double is shown
    if type(want) is not type(got) or want != got:
        return [f"{path}: want {want!r:.120}, got {got!r:.120}"]
    return []


class Replay(unittest.TestCase):
    def setUp(self):
        if not os.path.isdir(RECORDINGS):
            self.skipTest(f"no recordings in {RECORDINGS}")

    def recordings(self, group):
        with open(os.path.join(RECORDINGS, group + ".json")) as file:
            return [entry for entry in json.load(file) if isinstance(entry.get("response"), dict) and "status" in entry["response"]]

    def send(self, server, request):
        body = request.get("body", "")
        if "json" in request:
            body = json.dumps(request["json"])
        form = body.get("multipart") if isinstance(body, dict) else None
        if form:
            file = form["file_field"]
            fields = {k: v for k, v in form.items() if k != "file_field"}
            if not file:
                return server.upload(request["path"], fields, field=None)
            return server.upload(request["path"], fields, file["filename"], png(8, 6, 128), field=file["name"])
        headers = {k: v for k, v in request.get("headers", {}).items() if not is_placeholder(v) and k.lower() not in ("host", "content-length")}
        if "Host" in request.get("headers", {}):
            headers["Host"] = request["headers"]["Host"]
        return server.request(request["method"], request["path"], body if isinstance(body, str) and (body or request["method"] == "POST") else None, headers)

    def replay(self, server, group, compare_json=True, skip=()):
        problems, count, known = [], 0, set(server.get("/object_info").json)
        for entry in self.recordings(group):
            name, request, want = entry["name"], entry["request"], entry["response"]
            if name in skip or has_unknown_class(request, known) or is_placeholder(request.get("path", "<")):
                continue
            got = self.send(server, request)
            count += 1
            status = DEVIATIONS.get((group, name), want["status"])
            if want["status"] == 500 and (group, name) not in DEVIATIONS:
                if not 400 <= got.status < 500 or "error" not in got.json:
                    problems.append(f"{group}/{name}: recorded 500, got {got.status} {got.body[:200]}")
                continue
            if got.status != status:
                problems.append(f"{group}/{name}: want {status}, got {got.status} {got.body[:200]}")
            elif compare_json and got.status == want["status"] and "json" in want and request["method"] != "HEAD":
                # The counter had another start when these were recorded.
                skip_number = group != "prompt_valid" and isinstance(want["json"], dict)
                wanted = {k: v for k, v in want["json"].items() if k != "number"} if skip_number else want["json"]
                problems += [f"{group}/{name}{d}" for d in differences(wanted, got.json) if name not in OWN_WORDS or "/details: " not in d]
        self.assertGreater(count, 0, group)
        print(f"{group}: {count} requests replayed", file=sys.stderr)
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_prompts(self):
        for group, skip in (("prompt_valid", ()), ("prompt_invalid", ()), ("prompt_invalid_more", ())):
            with self.subTest(group), Server(PROGRAM) as server:
                self.replay(server, group, skip=skip)

    def test_settings(self):
        with Server(PROGRAM) as server:
            self.replay(server, "settings", skip=("get_when_file_is_broken",))

    def test_userdata(self):
        with Server(PROGRAM) as server:
            # Lists come sorted here; files are read and listed in other tests.
            self.replay(server, "userdata", skip=("list", "list_recurse", "list_recurse_split", "list_full_info", "list_case", "v2_root", "v2_path",
                                                  "users_single_user", "users_after"))

    def test_users(self):
        with Server(PROGRAM, "multi_user") as server:
            self.replay(server, "option_multi_user", skip=("settings", "settings_post", "settings_after", "userdata_put", "userdata_list", "users",
                                                           "userdata_unknown_user", "v2_unknown_user", "create_duplicate"))

    def test_uploads(self):
        with Server(PROGRAM) as server:
            for folder, name in (("output", "rgba.png"), ("input", "in.png")):
                with open(os.path.join(server.base, folder, name), "wb") as file:
                    file.write(png(8, 6, 128))
            self.replay(server, "upload", compare_json=False, skip=("mask_size_differs", "filename_traversal", "filename_with_path"))

    def test_view(self):
        files = {"output": ("rgba.png", "rgb.png", "gray.png", "sub/inner.png", "page.html", "x.xhtml", "x.js", "x.css", "x.svg", "x.txt", "x.json", "x.bin",
                            "x.mp4", "x.webp", "photo.jpg", "x.flac", "x.glb", "noext", "x.safetensors", "we\"ird.png", "\u00fcn\u00ef.png"),
                 "input": ("in.png",), "temp": ("t.png",)}
        with Server(PROGRAM) as server:
            for folder, names in files.items():
                for name in names:
                    path = os.path.join(server.base, folder, name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as file:
                        file.write(png(8, 6, 128) if name.endswith((".png", ".jpg", ".webp")) else b"text")
            self.replay(server, "view", compare_json=False, skip=("if_none_match", "if_modified_since"))

    def test_origins(self):
        with Server(PROGRAM) as server:
            problems = []
            for entry in self.recordings("origin_checks"):
                request, want = entry["request"], entry["response"]["status"]
                headers = {k: v.replace("<PORT>", str(server.port)).replace("8199", str(server.port)) for k, v in request.get("headers", {}).items()}
                if entry["name"].startswith("ws_"):
                    continue
                got = server.request(request["method"], request["path"], "{}" if request["method"] == "POST" else None, headers).status
                want = DEVIATIONS.get(("origin_checks", entry["name"]), 400 if want == 500 else want)
                if got != want:
                    problems.append(f"{entry['name']}: want {want}, got {got} {headers}")
            self.assertEqual(problems, [])

    def test_routing(self):
        with Server(PROGRAM) as server:
            names = ("root_post", "api_no_slash", "missing_png", "missing_js", "missing", "missing_api", "traversal", "traversal_encoded", "favicon",
                     "post_unknown", "put_prompt", "delete_queue", "options_prompt", "options_unknown", "head_queue", "query_in_ws", "trailing_slash_queue",
                     "double_slash", "case", "root", "root_head", "api_root", "index_html")
            everything = {entry["name"] for entry in self.recordings("static_and_routing")}
            self.replay(server, "static_and_routing", skip=everything - set(names))

    def test_interrupts_and_frees(self):
        with Server(PROGRAM) as server:
            self.replay(server, "interrupt")
            self.replay(server, "misc", compare_json=False, skip={e["name"] for e in self.recordings("misc") if e["name"].startswith(
                ("view_metadata", "exp_", "models_custom", "models_configs"))} - {"exp_models_unknown", "exp_models_legacy", "exp_preview_bad_folder"})

    def test_small_own_recordings(self):
        with open(os.path.join(SOURCE, "tests", "server", "recordings.json")) as file:
            own = json.load(file)
        with Server(PROGRAM) as server:
            for entry in own:
                got = self.send(server, entry["request"])
                self.assertEqual(got.status, entry["response"]["status"], entry["name"])
                self.assertEqual(differences(entry["response"]["json"], got.json), [], entry["name"])


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2, exit=False).result
    if not os.path.isdir(RECORDINGS) and result.wasSuccessful():
        print(f"skipped: no recordings in {RECORDINGS}")
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
