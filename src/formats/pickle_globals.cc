#include "formats/pickle_globals.h"

#include <algorithm>
#include <array>

namespace veneer::formats {
namespace {

constexpr auto kRules = std::to_array<GlobalRule>({
    {"collections.OrderedDict", GlobalUse::dict},
    {"collections.defaultdict", GlobalUse::dict},
    {"collections.Counter", GlobalUse::dict},
    {"builtins.dict", GlobalUse::dict},
    {"__builtin__.dict", GlobalUse::dict},
    {"builtins.list", GlobalUse::list},
    {"builtins.set", GlobalUse::list},
    {"builtins.frozenset", GlobalUse::list},
    {"builtins.tuple", GlobalUse::list},
    {"__builtin__.list", GlobalUse::list},
    {"__builtin__.set", GlobalUse::list},
    {"__builtin__.frozenset", GlobalUse::list},
    {"__builtin__.tuple", GlobalUse::list},
    {"torch.Size", GlobalUse::list},
    {"torch._utils._rebuild_tensor", GlobalUse::call},
    {"torch._utils._rebuild_tensor_v2", GlobalUse::call},
    {"torch._utils._rebuild_tensor_v3", GlobalUse::call},
    {"torch._utils._rebuild_parameter", GlobalUse::call},
    {"torch._utils._rebuild_parameter_with_state", GlobalUse::call},
    {"torch._tensor._rebuild_from_type_v2", GlobalUse::call},
    {"torch.Tensor", GlobalUse::name},
    {"torch.nn.parameter.Parameter", GlobalUse::name},
    {"torch.FloatStorage", GlobalUse::name},
    {"torch.DoubleStorage", GlobalUse::name},
    {"torch.HalfStorage", GlobalUse::name},
    {"torch.BFloat16Storage", GlobalUse::name},
    {"torch.LongStorage", GlobalUse::name},
    {"torch.IntStorage", GlobalUse::name},
    {"torch.ShortStorage", GlobalUse::name},
    {"torch.CharStorage", GlobalUse::name},
    {"torch.ByteStorage", GlobalUse::name},
    {"torch.BoolStorage", GlobalUse::name},
    {"torch.ComplexFloatStorage", GlobalUse::name},
    {"torch.ComplexDoubleStorage", GlobalUse::name},
    {"torch.UntypedStorage", GlobalUse::name},
    {"torch.storage.UntypedStorage", GlobalUse::name},
    {"torch.storage._UntypedStorage", GlobalUse::name},
    {"torch.cuda.FloatStorage", GlobalUse::name},
    {"torch.cuda.DoubleStorage", GlobalUse::name},
    {"torch.cuda.HalfStorage", GlobalUse::name},
    {"torch.cuda.BFloat16Storage", GlobalUse::name},
    {"torch.cuda.LongStorage", GlobalUse::name},
    {"torch.cuda.IntStorage", GlobalUse::name},
    {"torch.cuda.ShortStorage", GlobalUse::name},
    {"torch.cuda.CharStorage", GlobalUse::name},
    {"torch.cuda.ByteStorage", GlobalUse::name},
    {"torch.cuda.BoolStorage", GlobalUse::name},
    {"torch.float64", GlobalUse::name},
    {"torch.float32", GlobalUse::name},
    {"torch.float16", GlobalUse::name},
    {"torch.bfloat16", GlobalUse::name},
    {"torch.float8_e4m3fn", GlobalUse::name},
    {"torch.float8_e5m2", GlobalUse::name},
    {"torch.int64", GlobalUse::name},
    {"torch.int32", GlobalUse::name},
    {"torch.int16", GlobalUse::name},
    {"torch.int8", GlobalUse::name},
    {"torch.uint64", GlobalUse::name},
    {"torch.uint32", GlobalUse::name},
    {"torch.uint16", GlobalUse::name},
    {"torch.uint8", GlobalUse::name},
    {"torch.bool", GlobalUse::name},
    // What trainers leave beside the weights.
    {"torch.device", GlobalUse::opaque},
    {"torch.serialization._get_layout", GlobalUse::opaque},
    {"builtins.object", GlobalUse::opaque},
    {"builtins.int", GlobalUse::opaque},
    {"builtins.float", GlobalUse::opaque},
    {"builtins.bool", GlobalUse::opaque},
    {"builtins.str", GlobalUse::opaque},
    {"builtins.bytes", GlobalUse::opaque},
    {"builtins.bytearray", GlobalUse::opaque},
    {"builtins.complex", GlobalUse::opaque},
    {"builtins.slice", GlobalUse::opaque},
    {"builtins.range", GlobalUse::opaque},
    {"__builtin__.object", GlobalUse::opaque},
    {"__builtin__.int", GlobalUse::opaque},
    {"__builtin__.long", GlobalUse::opaque},
    {"__builtin__.float", GlobalUse::opaque},
    {"__builtin__.bool", GlobalUse::opaque},
    {"__builtin__.str", GlobalUse::opaque},
    {"__builtin__.unicode", GlobalUse::opaque},
    {"__builtin__.bytearray", GlobalUse::opaque},
    {"__builtin__.complex", GlobalUse::opaque},
    {"copy_reg._reconstructor", GlobalUse::opaque},
    {"copyreg._reconstructor", GlobalUse::opaque},
    {"_codecs.encode", GlobalUse::opaque},
    {"argparse.Namespace", GlobalUse::opaque},
    {"datetime.datetime", GlobalUse::opaque},
    {"datetime.timedelta", GlobalUse::opaque},
    {"pathlib.Path", GlobalUse::opaque},
    {"pathlib.PosixPath", GlobalUse::opaque},
    {"pathlib.PurePosixPath", GlobalUse::opaque},
    {"pathlib.WindowsPath", GlobalUse::opaque},
    {"pathlib.PureWindowsPath", GlobalUse::opaque},
    {"typing.Any", GlobalUse::opaque},
    {"numpy.dtype", GlobalUse::opaque},
    {"numpy.ndarray", GlobalUse::opaque},
    {"numpy.core.multiarray.scalar", GlobalUse::opaque},
    {"numpy._core.multiarray.scalar", GlobalUse::opaque},
    {"numpy.core.multiarray._reconstruct", GlobalUse::opaque},
    {"numpy._core.multiarray._reconstruct", GlobalUse::opaque},
});

// Libraries whose objects trainers pickle beside the weights: callbacks, loop states, configurations.
constexpr auto kOpaqueModules =
    std::to_array<std::string_view>({"pytorch_lightning.", "lightning.", "lightning_fabric.", "lightning_utilities.", "omegaconf."});

}  // namespace

std::optional<GlobalRule> find_global(std::string_view name) {
  const auto* rule = std::ranges::find(kRules, name, &GlobalRule::name);
  if (rule != kRules.end()) return *rule;
  const auto begins = [name](std::string_view module) { return name.starts_with(module); };
  if (std::ranges::any_of(kOpaqueModules, begins)) return GlobalRule{name, GlobalUse::opaque};
  return std::nullopt;
}

}  // namespace veneer::formats
