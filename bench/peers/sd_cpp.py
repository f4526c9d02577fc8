#!/usr/bin/env python3
"""stable-diffusion.cpp on CHECKPOINT, beside Veneer: seconds per step of a picture with guidance.

usage: sd_cpp.py CHECKPOINT [--size 512] [--steps 3] [--threads N] [--rounds 2]

The package compiles for long; a build with OpenBLAS or the LLAMAFILE kernels of ggml (CMAKE_ARGS="-DGGML_LLAMAFILE=ON") is faster than the default."""

import argparse
import os
import time

import veneer_run


def theirs_per_step(engine, size, steps):
    """From the first step's end to the last one's, as its progress callback tells them."""
    ends = []
    engine.generate_image(prompt="a lighthouse on a cliff", negative_prompt="blurry", width=size, height=size, sample_steps=steps, cfg_scale=7.0, seed=1,
                          sample_method="euler", progress_callback=lambda step, total, seconds: ends.append((step, total, time.perf_counter())))
    # Decoding the picture may call it as well, with another total.
    of_sampling = [end for _, total, end in ends if total == steps]
    if len(of_sampling) < 2:
        raise SystemExit("stable-diffusion.cpp told of fewer than two steps")
    return (of_sampling[-1] - of_sampling[0]) / (len(of_sampling) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--dtype", choices=("auto", "bf16", "f32"), default="auto", help="Veneer's")
    options = parser.parse_args()
    program = veneer_run.start()
    try:
        from stable_diffusion_cpp import StableDiffusion
    except ImportError as missing:
        raise SystemExit(f"skipped: {missing}; pip install stable-diffusion-cpp-python") from None
    engine = StableDiffusion(model_path=options.checkpoint, n_threads=options.threads, diffusion_flash_attn=True)
    theirs, ours = [], []
    for _ in range(options.rounds):
        theirs.append(theirs_per_step(engine, options.size, options.steps))
        step, _ = veneer_run.picture(program, options.checkpoint, options.size, options.steps, options.dtype, options.threads)
        ours.append(step)
    ratio = min(ours) / min(theirs)
    print(f"stable-diffusion.cpp: {min(theirs):.2f} s a step; Veneer: {min(ours):.2f} s; {options.threads} threads, {options.size}x{options.size}")
    print(f"Veneer needs {ratio:.2f} of stable-diffusion.cpp's time; target 0.20: {'met' if ratio <= 0.2 else 'not met'}")


if __name__ == "__main__":
    main()
