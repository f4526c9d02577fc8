#!/usr/bin/env python3
"""An eager PyTorch UNet of SD 1.5's shapes on the weights of CHECKPOINT, beside Veneer.

usage: pytorch_unet.py CHECKPOINT [--size 512] [--batch 2] [--dtype bf16] [--threads N] [--rounds 3]"""

import argparse
import math
import os
import statistics
import time

import veneer_run


def build(torch, weights):
    """The network as functions over the checkpoint's tensors, with torch's own fused attention: what an eager implementation runs."""
    functional = torch.nn.functional

    def conv(x, name, stride=1):
        weight = weights[name + ".weight"]
        return functional.conv2d(x, weight, weights.get(name + ".bias"), stride=stride, padding=weight.shape[2] // 2)

    def linear(x, name):
        return functional.linear(x, weights[name + ".weight"], weights.get(name + ".bias"))

    def group_norm(x, name, eps=1e-5):
        return functional.group_norm(x, 32, weights[name + ".weight"], weights[name + ".bias"], eps)

    def layer_norm(x, name):
        return functional.layer_norm(x, x.shape[-1:], weights[name + ".weight"], weights[name + ".bias"])

    def res_block(x, emb, name):
        h = conv(functional.silu(group_norm(x, name + "in_layers.0")), name + "in_layers.2")
        h = h + linear(functional.silu(emb), name + "emb_layers.1")[:, :, None, None]
        h = conv(functional.silu(group_norm(h, name + "out_layers.0")), name + "out_layers.3")
        return h + (conv(x, name + "skip_connection") if name + "skip_connection.weight" in weights else x)

    def attention(x, context, name):
        batch, tokens, width = x.shape

        def heads(t):
            return t.view(batch, -1, 8, width // 8).transpose(1, 2)

        q, k, v = (heads(linear(t, name + p)) for t, p in ((x, "to_q"), (context, "to_k"), (context, "to_v")))
        out = functional.scaled_dot_product_attention(q, k, v)
        return linear(out.transpose(1, 2).reshape(batch, tokens, width), name + "to_out.0")

    def transformer(x, context, name):
        batch, channels, height, width = x.shape
        h = conv(group_norm(x, name + "norm", 1e-6), name + "proj_in")
        h = h.permute(0, 2, 3, 1).reshape(batch, height * width, channels)
        block = name + "transformer_blocks.0."
        n = layer_norm(h, block + "norm1")
        h = h + attention(n, n, block + "attn1.")
        h = h + attention(layer_norm(h, block + "norm2"), context, block + "attn2.")
        a, gate = linear(layer_norm(h, block + "norm3"), block + "ff.net.0.proj").chunk(2, dim=-1)
        h = h + linear(a * functional.gelu(gate), block + "ff.net.2")
        h = h.reshape(batch, height, width, channels).permute(0, 3, 1, 2)
        return x + conv(h, name + "proj_out")

    def run(x, timestep, context):
        frequencies = torch.exp(-math.log(10000) * torch.arange(160, dtype=torch.float32) / 160)
        angles = timestep[:, None].float() * frequencies
        emb = torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1).to(x.dtype)
        emb = linear(functional.silu(linear(emb, "time_embed.0")), "time_embed.2")

        def block(h, name):
            if name + "0.op.weight" in weights:
                return conv(h, name + "0.op", 2)
            h = res_block(h, emb, name + "0.")
            if name + "1.norm.weight" in weights:
                h = transformer(h, context, name + "1.")
            for upsample in ("1.conv", "2.conv"):
                if name + upsample + ".weight" in weights:
                    h = conv(functional.interpolate(h, scale_factor=2, mode="nearest"), name + upsample)
            return h

        h = conv(x, "input_blocks.0.0")
        skips = [h]
        for i in range(1, 12):
            h = block(h, f"input_blocks.{i}.")
            skips.append(h)
        h = res_block(h, emb, "middle_block.0.")
        h = transformer(h, context, "middle_block.1.")
        h = res_block(h, emb, "middle_block.2.")
        for i in range(12):
            h = block(torch.cat([h, skips.pop()], dim=1), f"output_blocks.{i}.")
        return conv(functional.silu(group_norm(h, "out.0")), "out.2")

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--dtype", choices=("bf16", "f32"), default="bf16")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--channels-last", action="store_true", help="torch's channels_last layout")
    options = parser.parse_args()
    program = veneer_run.start()
    try:
        import torch
        from safetensors.torch import load_file
    except ImportError as missing:
        raise SystemExit(f"skipped: {missing}; pip install torch safetensors") from None
    torch.set_num_threads(options.threads)
    dtype = torch.bfloat16 if options.dtype == "bf16" else torch.float32
    prefix = "model.diffusion_model."
    weights = {}
    for key, tensor in load_file(options.checkpoint).items():
        if not key.startswith(prefix):
            continue
        tensor = tensor.to(dtype)
        if options.channels_last and tensor.dim() == 4:
            tensor = tensor.to(memory_format=torch.channels_last)
        weights[key[len(prefix):]] = tensor
    network = build(torch, weights)
    side = options.size // 8
    x = torch.randn(2, 4, side, side).to(dtype)
    if options.channels_last:
        x = x.to(memory_format=torch.channels_last)
    text, timestep = torch.randn(2, 77, 768).to(dtype), torch.tensor([500.0, 500.0])
    theirs, ours = [], []
    with torch.inference_mode():
        network(x, timestep, text)
        for _ in range(options.rounds):
            start = time.perf_counter()
            network(x, timestep, text)
            theirs.append(time.perf_counter() - start)
            step, _ = veneer_run.picture(program, options.checkpoint, options.size, 3, options.dtype, options.threads)
            ours.append(step)
    print(f"PyTorch {torch.__version__}, eager, {options.dtype}, {options.threads} threads, {options.size}x{options.size}, batch 2: "
          f"{min(theirs):.3f} s an evaluation (median {statistics.median(theirs):.3f})")
    print(f"Veneer: {min(ours):.3f} s a step (median {statistics.median(ours):.3f})")
    ratio = min(ours) / min(theirs)
    print(f"Veneer needs {ratio:.2f} of PyTorch's time; target 0.40 in bf16: {'met' if ratio <= 0.4 else 'not met'}")


if __name__ == "__main__":
    main()
