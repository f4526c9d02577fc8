"""Makes the torch files of this folder and, beside each, what is in it as safetensors. Needs the package torch (1.13 was used); tests do not run it."""
import collections
import json
import io
import os
import pickle
import sys
import types
import zipfile

import numpy
import torch

NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64", torch.int64: "I64", torch.int32: "I32",
         torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}


def raw(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().tobytes()
    return tensor.numpy().tobytes()


def write_safetensors(path, entries):
    """entries: name -> (dtype name, shape, bytes)"""
    header, data = {}, b""
    for name, (dtype, shape, content) in entries.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text + data)


def expect(path, tensors):
    write_safetensors(path, {name: (NAMES[t.dtype], t.shape, raw(t)) for name, t in tensors.items()})


def fake_module(name, **members):
    module = types.ModuleType(name)
    for key, value in members.items():
        value.__module__, value.__qualname__ = name, key
        setattr(module, key, value)
    sys.modules[name] = module


def state_dict():
    torch.manual_seed(7)
    shared = torch.randn(4, 6)
    sd = collections.OrderedDict()
    sd["model.f32.weight"] = torch.randn(3, 5)
    sd["model.f16.weight"] = torch.randn(2, 3, 2).half()
    sd["model.bf16.weight"] = torch.randn(7).bfloat16()
    sd["model.f64"] = torch.randn(2, 2, dtype=torch.float64)
    sd["model.i64"] = torch.tensor([-1, 2**40])
    sd["model.i32"] = torch.tensor([[1, -2]], dtype=torch.int32)
    sd["model.i16"] = torch.tensor([300], dtype=torch.int16)
    sd["model.i8"] = torch.tensor([-5, 5], dtype=torch.int8)
    sd["model.u8"] = torch.arange(5, dtype=torch.uint8)
    sd["model.bool"] = torch.tensor([True, False])
    sd["model.scalar"] = torch.tensor(2.5)
    sd["model.empty"] = torch.zeros(0, 4)
    sd["model.shared.rows"] = shared[1:3]
    sd["model.shared.transposed"] = shared.t()
    sd["model.shared.columns"] = shared[:, 1:5:2]
    sd["model.conv.channels_last"] = torch.randn(2, 3, 2, 2).contiguous(memory_format=torch.channels_last)
    sd["model.parameter"] = torch.nn.Parameter(torch.randn(3))
    return sd


class ModelCheckpoint:
    def __init__(self):
        self.monitor, self.best = "val/loss", numpy.float64(0.25)


class Evil:
    def __reduce__(self):
        return (os.system, ("touch /tmp/veneer_was_executed",))


class Unknown:
    def __reduce__(self):
        return (collections.namedtuple, ("x", "y"))


class RawStorage:
    def __init__(self, key, content):
        self.key, self.content = key, content


class Rebuilt:
    def __init__(self, function, storage, shape, stride, dtype):
        self.parts = (function, (storage, 0, shape, stride, False, collections.OrderedDict(), dtype, {}))

    def __reduce__(self):
        return self.parts


class Name:
    """A global that stands for itself."""
    def __init__(self, name):
        self.name = name

    def __reduce__(self):
        return self.name


def torch2_file(path):
    """What torch 2.4 writes for dtypes without a storage class of their own."""
    def rebuild(*_):
        pass
    fake_function(rebuild, torch._utils, "_rebuild_tensor_v3")
    untyped = type("UntypedStorage", (), {"__module__": "torch.storage"})
    torch.storage.UntypedStorage = untyped
    fp8 = Name("float8_e4m3fn")
    fp8.__module__, torch.float8_e4m3fn = "torch", fp8
    content = bytes([0x38, 0x40, 0xB8, 0x7E, 0x00, 0x01])
    state = {"fp8.weight": Rebuilt(rebuild, RawStorage("0", content), (2, 3), (3, 1), fp8)}

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return ("storage", untyped, obj.key, "cpu", len(obj.content)) if isinstance(obj, RawStorage) else None

    text = io.BytesIO()
    Pickler(text, protocol=2).dump(state)
    with zipfile.ZipFile(path, "w") as target:
        for name, entry in {"data.pkl": text.getvalue(), ".format_version": b"1", ".storage_alignment": b"64", "byteorder": b"little",
                            "data/0": content, "version": b"3\n", ".data/serialization_id": b"0" * 40}.items():
            target.writestr("archive/" + name, entry)
    write_safetensors("torch2_fp8.safetensors", {"fp8.weight": ("F8_E4M3", (2, 3), content)})


def fake_function(function, module, name):
    function.__module__, function.__qualname__, function.__name__ = module.__name__, name, name
    setattr(module, name, function)


def main():
    fake_module("pytorch_lightning")
    fake_module("pytorch_lightning.callbacks")
    fake_module("pytorch_lightning.callbacks.model_checkpoint", ModelCheckpoint=ModelCheckpoint)
    sd = state_dict()
    parameter = sd["model.parameter"]
    optimizer = torch.optim.AdamW([parameter])
    parameter.sum().backward()
    optimizer.step()
    checkpoint = {"epoch": 3, "global_step": 470000, "pytorch-lightning_version": "1.4.2", "state_dict": sd,
                  "callbacks": {ModelCheckpoint: {"monitor": "val/loss", "best_model_score": torch.tensor(0.5), "object": ModelCheckpoint()}},
                  "optimizer_states": [optimizer.state_dict()], "lr_schedulers": [{"last_epoch": 3, "base_lrs": [0.1]}], "loops": None, "ratio": 0.5}
    torch.save(checkpoint, "torch.ckpt")
    torch.save(checkpoint, "torch_protocol4.ckpt", pickle_protocol=4)
    torch.save(checkpoint, "torch_old.ckpt", _use_new_zipfile_serialization=False)
    expect("torch.safetensors", sd)

    bare = collections.OrderedDict(a=sd["model.f32.weight"], b=sd["model.f16.weight"])
    torch.save(bare, "my model.ckpt")
    torch.save({"string_to_param": {"*": sd["model.parameter"]}, "name": "cat", "step": 100}, "embedding.pt")
    torch.save({"state_dict": bare, "x": Evil()}, "os_system.ckpt")
    torch.save({"state_dict": bare, "x": Unknown()}, "unknown_callable.ckpt")
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), "torchscript.pt")
    torch2_file("torch2_fp8.pt")
    # As Python's own zipfile writes it when somebody packs the folder again.
    with zipfile.ZipFile("my model.ckpt") as source, zipfile.ZipFile("packed_again.ckpt", "w") as target:
        for entry in source.infolist():
            target.writestr(entry.filename, source.read(entry))


if __name__ == "__main__":
    main()
