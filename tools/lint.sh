#!/usr/bin/env bash
# Form and static checks: clang-format on every source, clang-tidy on every source but the kernels that compile once per instruction set.
# Usage: tools/lint.sh [FILE...]; without files, all. Needs build/release configured with tests.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files '*.cc' '*.h'); fi
clang-format --dry-run --Werror "${files[@]}"
echo "clang-format: ${#files[@]} files"

sources=()
for file in "${files[@]}"; do
  case "$file" in
    *.cc) grep -q 'foreach_target.h' "$file" || sources+=("$file") ;;
  esac
done
# Only files of the compilation database can be checked; fuzz targets have a build of their own.
mapfile -t known < <(python3 - "${sources[@]}" <<'PY'
import json, os, sys
have = {os.path.relpath(e["file"]) for e in json.load(open("build/release/compile_commands.json"))}
print("\n".join(f for f in sys.argv[1:] if f in have))
PY
)
printf '%s\n' "${known[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy -p build/release --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null
echo "clang-tidy: ${#known[@]} files"
