#!/usr/bin/env python3
"""Runs clang-tidy over sources and prints each finding once, however many sources include the header that it is in.

usage: clang_tidy.py BUILD_FOLDER FILE...
Files that BUILD_FOLDER/compile_commands.json does not have are left out. Exit code 1 if there is a finding. A source that passed is remembered in
BUILD_FOLDER/passed under a hash of all that was read for it (itself, the project's headers it includes, its command, the checks), and not read again
while that is the same: a pass over the whole tree takes most of an hour of CPU time."""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# "FILE:LINE:COLUMN: error: ..." begins a finding; the lines up to the next one (source, caret, notes) belong to it.
FINDING = re.compile(r"^(\S+:\d+:\d+: )?(error|warning): ")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
INCLUDE_FOLDERS = [pathlib.Path(folder) for folder in ("src", "include", "apps/cli", "tests", "tests/support", "bench", "tools/goldens", ".")]


@functools.lru_cache(maxsize=None)
def content(path):
    return path.read_bytes()


@functools.lru_cache(maxsize=None)
def headers_of(path):
    """The project's own headers that a file names."""
    found = []
    for name in INCLUDE.findall(content(path).decode(errors="replace")):
        for folder in [path.parent, *INCLUDE_FOLDERS]:
            if (folder / name).is_file():
                found.append(pathlib.Path(os.path.normpath(folder / name)))
                break
    return found


def key_of(source, command):
    """A hash of all that clang-tidy reads for a source but the system's headers."""
    seen, waiting = set(), [pathlib.Path(source)]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting.extend(headers_of(path))
    digest = hashlib.sha256(command.encode() + content(pathlib.Path(".clang-tidy")) + clang_tidy_version())
    for path in sorted(seen):
        digest.update(str(path).encode() + b"\0" + content(path) + b"\0")
    return digest.hexdigest()


@functools.lru_cache(maxsize=None)
def clang_tidy_version():
    return subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout


def findings_of(build, source, passed):
    if passed.exists():
        return []
    run = subprocess.run(["clang-tidy", "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option", source], capture_output=True, text=True)
    found = []
    for line in run.stdout.splitlines():
        if FINDING.match(line):
            found.append([])
        if found:
            found[-1].append(line)
    if run.returncode != 0 and not found:
        found.append([f"{source}: error: clang-tidy ended with {run.returncode}: {run.stderr.strip()}"])
    if not found:
        passed.touch()
    return ["\n".join(lines) for lines in found]


def main():
    build, files = sys.argv[1], sys.argv[2:]
    database = pathlib.Path(build, "compile_commands.json")
    if not database.is_file():
        sys.exit(f"clang-tidy: no {database}: run `make build` first")
    commands = {os.path.relpath(os.path.join(entry["directory"], entry["file"])): entry["command"] for entry in json.loads(database.read_text())}
    sources = [os.path.relpath(file) for file in files if os.path.relpath(file) in commands]
    folder = pathlib.Path(build, "passed")
    folder.mkdir(exist_ok=True)
    # Keys first: a source that is edited while others are read must not pass as what it became.
    passed = {source: folder / key_of(source, commands[source]) for source in sources}
    known = sum(path.exists() for path in passed.values())
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for future in concurrent.futures.as_completed([pool.submit(findings_of, build, source, passed[source]) for source in sources]):
            for finding in future.result():
                if finding not in seen:
                    seen.add(finding)
                    print(finding, flush=True)
    print(f"clang-tidy: {len(sources)} files, {len(seen)} findings; {known} of the files had passed before and are as they were")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
