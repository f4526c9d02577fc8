#!/usr/bin/env bash
# Form and static checks: clang-format on every source, clang-tidy on every source but the kernels that compile once per instruction set.
# Usage: tools/lint.sh [FILE...]; without files, all. Prints findings, and a line of counts for each tool.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files '*.cc' '*.h'); fi
clang-format --dry-run --Werror "${files[@]}"
echo "clang-format: ${#files[@]} files"

# Fuzz targets have a build of their own and are left out as well.
sources=()
for file in "${files[@]}"; do
  case "$file" in
    *.cc) grep -q 'foreach_target.h' "$file" || sources+=("$file") ;;
  esac
done
# A configuration of its own, without GCC's precompiled headers, which clang cannot read.
mkdir -p build
cmake --preset release -B build/lint -DVENEER_PCH=OFF >build/lint-configure.log || { cat build/lint-configure.log; exit 1; }
cmake --build build/lint --target build_info >build/lint-configure.log || { cat build/lint-configure.log; exit 1; }
tools/clang_tidy.py build/lint "${sources[@]}"
