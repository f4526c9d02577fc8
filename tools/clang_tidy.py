#!/usr/bin/env python3
"""Runs clang-tidy over sources and prints each finding once, however many sources include the header that it is in.

usage: clang_tidy.py BUILD_FOLDER FILE...
Files that BUILD_FOLDER/compile_commands.json does not have are left out. Exit code 1 if there is a finding."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

# "FILE:LINE:COLUMN: error: ..." begins a finding; the lines up to the next one (source, caret, notes) belong to it.
FINDING = re.compile(r"^(\S+:\d+:\d+: )?(error|warning): ")


def findings_of(build, source):
    run = subprocess.run(["clang-tidy", "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option", source], capture_output=True, text=True)
    found = []
    for line in run.stdout.splitlines():
        if FINDING.match(line):
            found.append([])
        if found:
            found[-1].append(line)
    if run.returncode != 0 and not found:
        found.append([f"{source}: error: clang-tidy ended with {run.returncode}: {run.stderr.strip()}"])
    return ["\n".join(lines) for lines in found]


def main():
    build, files = sys.argv[1], sys.argv[2:]
    database = pathlib.Path(build, "compile_commands.json")
    if not database.is_file():
        sys.exit(f"clang-tidy: no {database}: run `make build` first")
    known = {os.path.relpath(os.path.join(entry["directory"], entry["file"])) for entry in json.loads(database.read_text())}
    sources = [file for file in files if os.path.relpath(file) in known]
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for future in concurrent.futures.as_completed([pool.submit(findings_of, build, source) for source in sources]):
            for finding in future.result():
                if finding not in seen:
                    seen.add(finding)
                    print(finding, flush=True)
    print(f"clang-tidy: {len(sources)} files, {len(seen)} findings")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
