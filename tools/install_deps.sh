#!/usr/bin/env bash
# Installs what a build of Veneer needs on Debian 12: distribution packages, and oneDNN 3.x from PyPI where it can be had.
# Usage: tools/install_deps.sh [--tests]. Does nothing for what is there already; needs root (or sudo) only when a package is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build pkg-config git ca-certificates ccache python3 nlohmann-json3-dev libcli11-dev libpng-dev libjpeg-dev
          libwebp-dev libssl-dev libxxhash-dev libhwy-dev libutf8proc-dev libeigen3-dev zlib1g-dev libboost-dev libsqlite3-dev libyaml-cpp-dev libspdlog-dev libdnnl-dev libbenchmark-dev)
if [ "${1:-}" = --tests ]; then
  packages+=(libgtest-dev libgmock-dev clang libclang-rt-14-dev clang-format clang-tidy)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}"
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# oneDNN 3.x is up to twice as fast as the distribution's 2.6 on AMX machines. Either works; see docs/building.md.
target=build/deps/onednn
if [ ! -e "$target/include/oneapi/dnnl/dnnl.hpp" ] && command -v python3 >/dev/null; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  if python3 -m pip --version >/dev/null 2>&1 &&
     python3 -m pip download --quiet --disable-pip-version-check --only-binary=:all: -d "$scratch" 'onednn-devel-cpu-gomp==2023.2.0' >/dev/null 2>&1; then
    for wheel in "$scratch"/*.whl; do python3 -m zipfile -e "$wheel" "$scratch/unpacked"; done
    mkdir -p "$target.part/lib"
    cp -r "$scratch"/unpacked/onednn_devel_*.data/data/include "$target.part/"
    cp "$scratch"/unpacked/onednn_cpu_*.data/data/lib/libdnnl.so.3 "$target.part/lib/libdnnl.so.3"
    ln -sf libdnnl.so.3 "$target.part/lib/libdnnl.so"
    rm -rf "$target"
    mv "$target.part" "$target"
    echo "oneDNN 3.2: $target"
  else
    echo "oneDNN 3.x cannot be had here (PyPI or pip is missing): the distribution's 2.6 is used"
  fi
fi
