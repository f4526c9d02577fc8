#!/usr/bin/env python3
"""Reads every #include in src/ and fails on an arrow that src/layers.txt does not allow, or on a third-party header in include/veneer."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
allowed = {}
for line in (root / "src/layers.txt").read_text().splitlines():
    if line.strip() and not line.startswith("#"):
        room, _, targets = line.partition(":")
        allowed[room.strip()] = set(targets.split()) | {room.strip(), "veneer"}

faults = []
include = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
for room in sorted(p.name for p in (root / "src").iterdir() if p.is_dir()):
    if room not in allowed:
        faults.append(f"src/{room}: not in src/layers.txt")
        continue
    for path in sorted((root / "src" / room).rglob("*")):
        if path.suffix not in {".h", ".cc"}:
            continue
        for number, text in enumerate(path.read_text().splitlines(), 1):
            match = include.match(text)
            if match and match[1].split("/")[0] not in allowed[room]:
                faults.append(f"{path.relative_to(root)}:{number}: room '{room}' may not include \"{match[1]}\"")

order = list(allowed)
for room, targets in allowed.items():
    for target in targets - {room, "veneer"}:
        if target not in order or order.index(target) > order.index(room):
            faults.append(f"src/layers.txt: '{room}' may only include rooms listed above it, not '{target}'")

standard = re.compile(r"^\s*#\s*include\s*<([a-z_0-9]+)>")
for path in sorted((root / "include/veneer").glob("*.h")):
    for number, text in enumerate(path.read_text().splitlines(), 1):
        if "#include" in text.replace(" ", "") and not standard.match(text) and '"veneer/' not in text:
            faults.append(f"{path.relative_to(root)}:{number}: public headers include the standard library and each other only")

print("\n".join(faults) if faults else "layers: all arrows are allowed")
sys.exit(1 if faults else 0)
