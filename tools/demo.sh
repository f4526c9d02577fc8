#!/usr/bin/env bash
# Draws the demo: four prompts, each plain, outlined and by night (one base model, three variants), and one sheet that shows them side by side.
# Usage: tools/demo.sh PATH-TO-VENEER
set -euo pipefail
cd "$(dirname "$0")/.."
exec "$1" run workflows/demo.json --models models/demo --output output/demo
