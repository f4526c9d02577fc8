"""Workflows on the demo model, and models made from it."""

import json
import os
import struct
import zlib


def workflow(name, loras=(), seed=5, steps=2, side=64):
    """A picture, 64x64 unless told otherwise, by a checkpoint under LoRAs [(name, strength)]."""
    nodes = {"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": name}}}
    model, clip = ["1", 0], ["1", 1]
    for i, (lora, strength) in enumerate(loras):
        key = f"l{i}"
        nodes[key] = {"class_type": "LoraLoader", "inputs": {"model": model, "clip": clip, "lora_name": lora, "strength_model": strength,
                                                             "strength_clip": strength}}
        model, clip = [key, 0], [key, 1]
    nodes.update({
        "2": {"class_type": "CLIPTextEncode", "inputs": {"clip": clip, "text": "a red circle"}},
        "3": {"class_type": "CLIPTextEncode", "inputs": {"clip": clip, "text": ""}},
        "4": {"class_type": "EmptyLatentImage", "inputs": {"width": side, "height": side, "batch_size": 1}},
        "5": {"class_type": "KSampler", "inputs": {"model": model, "seed": seed, "steps": steps, "cfg": 5.0, "sampler_name": "euler", "scheduler": "normal",
                                                   "positive": ["2", 0], "negative": ["3", 0], "latent_image": ["4", 0], "denoise": 1.0}},
        "6": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["1", 2]}},
        "7": {"class_type": "SaveImage", "inputs": {"images": ["6", 0], "filename_prefix": "d"}}})
    return nodes


def pixel_data(picture):
    """The rows of a PNG as they are stored, filters included."""
    at, data = 8, b""
    while at < len(picture):
        size, kind = struct.unpack(">I4s", picture[at:at + 8])
        if kind == b"IDAT":
            data += picture[at + 8:at + 8 + size]
        at += 12 + size
    return zlib.decompress(data)


def other_checkpoint(source, target, value):
    """The same file with another bias of the network's last layer, in place of an earlier one at once."""
    with open(source, "rb") as file:
        data = bytearray(file.read())
    size = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + size])["model.diffusion_model.out.2.bias"]
    begin, end = (8 + size + offset for offset in entry["data_offsets"])
    data[begin:end] = struct.pack("<e", value) * ((end - begin) // 2)
    put(target, bytes(data))


def shards_of(source, folder, stem, count=3):
    """Puts the tensors of a safetensors file into shards below the folder, and their index: its name."""
    with open(source, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    names = sorted(header)
    places = {}
    for number in range(count):
        shard = f"{stem}-{number + 1:05}-of-{count:05}.safetensors"
        entries, body = {}, b""
        for name in names[number::count]:
            begin, end = header[name]["data_offsets"]
            entries[name] = {**header[name], "data_offsets": [len(body), len(body) + end - begin]}
            body += data[8 + size + begin:8 + size + end]
            places[name] = shard
        text = json.dumps(entries).encode()
        text += b" " * (-len(text) % 8)
        put(os.path.join(folder, shard), struct.pack("<Q", len(text)) + text + body)
    index = f"{stem}.safetensors.index.json"
    put(os.path.join(folder, index), json.dumps({"metadata": {}, "weight_map": places}).encode())
    return index


def put(target, data):
    with open(target + ".part", "wb") as file:
        file.write(data)
    os.replace(target + ".part", target)


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def demo(source):
    return os.path.join(source, "models", "demo")


def checkpoint_of(source):
    return os.path.join(demo(source), "checkpoints", "shapes-sd-tiny.safetensors")
