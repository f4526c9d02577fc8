"""Makes the GGUF files of this folder with the package gguf, and beside each the values that the package reads from it as safetensors (f32). Tests do
not run it."""
import json

import numpy as np
import gguf
from gguf import GGMLQuantizationType as T
from gguf import quants

WRITTEN = [T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0]
K_QUANTS = [T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K]
SCALES = {T.Q2_K: (80, 82), T.Q3_K: (108,), T.Q4_K: (0, 2), T.Q5_K: (0, 2), T.Q6_K: (208,)}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        content = np.ascontiguousarray(values, dtype=np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text + data)


def k_blocks(random, kind, rows, blocks):
    """The package does not quantise to these: blocks of random bits with scales that are small numbers."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    raw = random.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
    for at in SCALES[kind]:
        raw[:, :, at:at + 2] = random.normal(0, 0.02, (rows, blocks, 1)).astype(np.float16).view(np.uint8).reshape(rows, blocks, 2)
    return raw.reshape(rows, blocks * size)


def main():
    random = np.random.default_rng(5)
    writer = gguf.GGUFWriter("quantised.gguf", "sd1")
    writer.add_name("a file of every type")
    writer.add_author("Veneer")
    writer.add_uint64("test.u64", 2**63)
    writer.add_array("test.array", [1, 2, 3])
    writer.add_array("test.texts", ["a", "b"])
    writer.add_array("test.long", list(range(100)))
    writer.add_bool("test.flag", True)
    writer.add_float32("test.float", 0.5)
    expected = {}
    for kind in WRITTEN:
        values = random.normal(0, 1, (3, 64)).astype(np.float32)
        raw = quants.quantize(values, kind)
        name = f"model.{kind.name.lower()}.weight"
        writer.add_tensor(name, raw, raw_dtype=kind)
        expected[name] = quants.dequantize(raw, kind)
        expected[f"source.{kind.name.lower()}"] = values
    for kind in K_QUANTS:
        raw = k_blocks(random, kind, 2, 2)
        name = f"model.{kind.name.lower()}.weight"
        writer.add_tensor(name, raw, raw_dtype=kind)
        expected[name] = quants.dequantize(raw, kind)
    f32 = random.normal(0, 1, (2, 3, 3, 3)).astype(np.float32)
    writer.add_tensor("model.f32.weight", f32)
    expected["model.f32.weight"] = f32
    f16 = random.normal(0, 1, (5,)).astype(np.float16)
    writer.add_tensor("model.f16.bias", f16)
    expected["model.f16.bias"] = f16.astype(np.float32)
    bf16 = quants.quantize(random.normal(0, 1, (2, 4)).astype(np.float32), T.BF16)
    writer.add_tensor("model.bf16.weight", bf16, raw_dtype=T.BF16)
    expected["model.bf16.weight"] = quants.dequantize(bf16, T.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    write_safetensors("quantised.safetensors", expected)

    small = gguf.GGUFWriter("small.gguf", "sd1")
    small.add_array("comfy.gguf.orig_shape.a", [2, 4, 4])
    small.add_tensor("a", np.arange(32, dtype=np.float32))
    small.add_tensor("b", np.arange(1, 17, dtype=np.float16))
    small.write_header_to_file()
    small.write_kv_data_to_file()
    small.write_tensors_to_file()
    small.close()


if __name__ == "__main__":
    main()
