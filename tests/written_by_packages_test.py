#!/usr/bin/env python3
"""Files that the packages torch and gguf write here and now read back equal, tensor by tensor and byte by byte.

usage: written_by_packages_test.py VENEER
Each package is looked for in the interpreter that runs this, in those of $VENEER_PACKAGES_PYTHON (separated by ':'), and in python3 of the path and of
the system. What is nowhere is skipped, with the exit code 77 when that is both."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77

# Both write their file (or files), and beside it NAME.json: {tensor: [dtype of safetensors, shape, bytes as hexadecimal digits]}.
WRITE_TORCH = r"""
import json, sys, torch
folder = sys.argv[1]
torch.manual_seed(7)
base = torch.randn(6, 10)
tensors = {
    "model.f32": base, "model.f16": torch.randn(3, 5).half(), "model.bf16": torch.randn(4, 7).bfloat16(), "model.f64": torch.randn(3).double(),
    "model.i64": torch.arange(-3, 9), "model.i32": torch.arange(5, dtype=torch.int32), "model.i16": torch.arange(5, dtype=torch.int16),
    "model.i8": torch.arange(-2, 5, dtype=torch.int8), "model.u8": torch.arange(9, dtype=torch.uint8), "model.flag": torch.tensor([True, False, True]),
    "model.scalar": torch.tensor(2.5), "model.empty": torch.zeros(0, 4), "model.turned": base.t(), "model.part": base[1:4, 2:9], "model.every": base[::2],
    "model.same": base.view(-1), "model.parameter": torch.nn.Parameter(torch.randn(2, 2)), "model.wide": torch.randn(2, 1).expand(2, 6),
}
names = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
         "uint8": "U8", "bool": "BOOL"}
def raw(tensor):
    data = tensor.detach().contiguous().reshape(-1)
    return bytes(data.view(torch.uint8).tolist() if data.dtype != torch.bool else [int(x) for x in data.tolist()]) if data.numel() else b""
told = {name: [names[str(t.dtype).split(".")[1]], list(t.shape), raw(t).hex()] for name, t in tensors.items()}
files = {"zip.ckpt": {}, "old.ckpt": {"_use_new_zipfile_serialization": False}, "protocol4.ckpt": {"pickle_protocol": 4}}
for name, how in files.items():
    torch.save({"state_dict": tensors, "global_step": 1234, "epoch": 3}, f"{folder}/{name}", **how)
    json.dump(told, open(f"{folder}/{name}.json", "w"))
"""

WRITE_GGUF = r"""
import json, sys, gguf, numpy
from gguf import GGMLQuantizationType as T
folder = sys.argv[1]
random = numpy.random.default_rng(7)
writer, told = gguf.GGUFWriter(f"{folder}/w.gguf", "sd1"), {}
writer.add_name("a name")
for kind in (T.F32, T.F16, T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0):
    values = random.standard_normal((6, 64), dtype=numpy.float32)
    name = f"model.{kind.name.lower()}.weight"
    if kind == T.F32:
        writer.add_tensor(name, values)
    elif kind == T.F16:
        values = values.astype(numpy.float16)
        writer.add_tensor(name, values)
    else:
        blocks = gguf.quants.quantize(values, kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        values = gguf.quants.dequantize(blocks, kind)
    told[name] = ["F32", [6, 64], values.astype(numpy.float32).tobytes().hex()]
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
json.dump(told, open(f"{folder}/w.gguf.json", "w"))
"""


def interpreter_with(package):
    for python in [sys.executable, *os.environ.get("VENEER_PACKAGES_PYTHON", "").split(":"), "python3", "/usr/bin/python3"]:
        try:
            if python and subprocess.run([python, "-c", f"import {package}"], capture_output=True, timeout=120).returncode == 0:
                return python
        except OSError:
            continue
    return None


def read(path):
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    header.pop("__metadata__", None)
    return {name: [t["dtype"], t["shape"], data[t["data_offsets"][0]:t["data_offsets"][1]].hex()] for name, t in header.items()}


def faults_of(program, file, arguments):
    target = file.with_suffix(".safetensors")
    run = subprocess.run([program, "convert", str(file), str(target), "--replace", *arguments], capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        return [f"{file.name}: {run.stderr.strip()}"]
    want, got = json.loads(pathlib.Path(f"{file}.json").read_text()), read(target)
    faults = [f"{file.name}: {name} is {str(got.get(name))[:80]}, not {str(tensor)[:80]}" for name, tensor in want.items() if got.get(name) != tensor]
    return faults + [f"{file.name}: {name} is too much" for name in got.keys() - want.keys()]


def main():
    program, faults, tried = sys.argv[1], [], 0
    for package, text, arguments in (("torch", WRITE_TORCH, []), ("gguf", WRITE_GGUF, ["--dtype", "f32"])):
        python = interpreter_with(package)
        if python is None:
            print(f"skipped: no interpreter here has the package {package}; stored files that it wrote are read by the tests of formats")
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([python, "-c", text, folder], check=True, timeout=300)
            files = [pathlib.Path(str(told)[:-len(".json")]) for told in sorted(pathlib.Path(folder).glob("*.json"))]
            for file in files:
                faults += faults_of(program, file, arguments)
            tried += len(files)
            print(f"{package} by {python}: {len(files)} files")
    print("\n".join(faults) if faults else f"{tried} files read back equal")
    return 1 if faults else 0 if tried else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
