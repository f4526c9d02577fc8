"""What Veneer needs for an evaluation of the UNet or a step, from its own profile."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def start():
    """The program to measure. Starts the calling script again where its own allocations would not come from huge pages: both sides get the same."""
    program = os.environ.get("VENEER", str(ROOT / "build/release/veneer"))
    if not os.access(program, os.X_OK):
        raise SystemExit("skipped: no veneer in build/release; set VENEER to the program")
    if "GLIBC_TUNABLES" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | HUGE_PAGES)
    return program


def picture(program, checkpoint, size, steps, dtype, threads):
    """Draws one picture. Returns seconds of a step and of an evaluation of the UNet (a batch of two)."""
    with tempfile.TemporaryDirectory(prefix="veneer_peer_") as folder:
        models = pathlib.Path(folder) / "checkpoints"
        models.mkdir()
        (models / "peer.safetensors").symlink_to(pathlib.Path(checkpoint).resolve())
        command = [program, "txt2img", "-m", "peer.safetensors", "-p", "a lighthouse on a cliff", "-n", "blurry", "-W", str(size), "-H", str(size),
                   "--steps", str(steps), "--dtype", dtype, "--threads", str(threads), "--models", folder, "--output", folder + "/output", "--json",
                   "--profile", folder + "/trace.json"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit("veneer failed: " + run.stdout + run.stderr)
        profile = json.loads(run.stdout)["profile"]
        return profile["steps"]["seconds"] / profile["steps"]["count"], profile["unet"]
