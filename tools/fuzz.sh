#!/usr/bin/env bash
# Runs every libFuzzer target for SECONDS (default 30) over its corpus in tests/corpus/TARGET. A finding ends the script with its reproducer's path.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
cmake -G Ninja -B build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DVENEER_OPENMP=OFF \
      -DVENEER_BUILD_FUZZ=ON -DVENEER_BUILD_TESTS=OFF -DVENEER_BUILD_BENCH=OFF >build/fuzz-configure.log || { cat build/fuzz-configure.log; exit 1; }
cmake --build build/fuzz --target fuzzers

# One thread each, so as many at once as there are cores.
fuzz_one() {
  local seconds=$1 target=$2 name found
  name=$(basename "$target" _fuzz)
  found=build/fuzz/found/$name
  mkdir -p "$found" "tests/corpus/$name"
  if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found/crash-" "$found" "tests/corpus/$name" \
       >"build/fuzz/$name.log" 2>&1; then
    tail -n 40 "build/fuzz/$name.log"
    echo "fuzzing $name: a finding, see $found"
    return 1
  fi
  echo "fuzzed $name for $seconds s: $(grep -oE 'number_of_executed_units: *[0-9]+' "build/fuzz/$name.log")"
}
export -f fuzz_one
printf '%s\n' build/fuzz/fuzz/*_fuzz | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one "$@"' _ "$seconds" {}
