#include <algorithm>
#include <array>

#include "base/checked.h"
#include "formats/torch_dtype.h"
#include "formats/torch_tensors.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

struct TypeName {
  std::string_view name;
  DType dtype;
};

constexpr auto kStorages = std::to_array<TypeName>({{"FloatStorage", DType::f32},
                                                    {"HalfStorage", DType::f16},
                                                    {"BFloat16Storage", DType::bf16},
                                                    {"DoubleStorage", DType::f64},
                                                    {"LongStorage", DType::i64},
                                                    {"IntStorage", DType::i32},
                                                    {"ShortStorage", DType::i16},
                                                    {"CharStorage", DType::i8},
                                                    {"ByteStorage", DType::u8},
                                                    {"BoolStorage", DType::boolean}});

constexpr auto kDTypes = std::to_array<TypeName>({{"float32", DType::f32},
                                                  {"float16", DType::f16},
                                                  {"bfloat16", DType::bf16},
                                                  {"float64", DType::f64},
                                                  {"float8_e4m3fn", DType::f8_e4m3fn},
                                                  {"float8_e5m2", DType::f8_e5m2},
                                                  {"int64", DType::i64},
                                                  {"int32", DType::i32},
                                                  {"int16", DType::i16},
                                                  {"int8", DType::i8},
                                                  {"uint64", DType::u64},
                                                  {"uint32", DType::u32},
                                                  {"uint16", DType::u16},
                                                  {"uint8", DType::u8},
                                                  {"bool", DType::boolean}});

std::string_view without(std::string_view text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

Error broken(const char* text, const std::string& file) { return Error(ErrorCode::corrupt, text, {{"file", file}}); }

uint64_t count_of(const PickleNode& node, const std::string& file) {
  if (node.kind != NodeKind::integer || node.integer < 0) throw broken("torch: storage has no size", file);
  return static_cast<uint64_t>(node.integer);
}

}  // namespace

std::optional<DType> torch_dtype(std::string_view global) {
  const auto* found = std::ranges::find(kDTypes, without(global, "torch."), &TypeName::name);
  return found != kDTypes.end() ? std::optional(found->dtype) : std::nullopt;
}

uint64_t TorchStorage::size_bytes() const { return checked_mul(num_elements, dtype ? size_of(*dtype) : 1, "torch storage"); }

TorchStorage torch_storage(const PickleData& data, const PickleNode& persistent, const std::string& file) {
  const PickleNode& id = data[persistent.items.front()];
  const auto item = [&](size_t i) -> const PickleNode& { return data[id.items[i]]; };
  if (id.kind != NodeKind::tuple || id.items.size() < 5 || item(0).kind != NodeKind::string || item(0).text != "storage" ||
      item(1).kind != NodeKind::global || item(2).kind != NodeKind::string) {
    throw broken("torch: persistent object is no storage", file);
  }
  TorchStorage out{.key = item(2).text, .dtype = std::nullopt, .num_elements = count_of(item(4), file)};
  const std::string_view type = without(without(without(item(1).text, "torch."), "cuda."), "storage.");
  if (const auto* found = std::ranges::find(kStorages, type, &TypeName::name); found != kStorages.end()) {
    out.dtype = found->dtype;
  } else if (type != "UntypedStorage" && type != "_UntypedStorage") {
    throw Error(ErrorCode::unsupported, "torch: kind of storage is not supported", {{"file", file}, {"storage", std::string(item(1).text)}});
  }
  if (id.items.size() > 5 && item(5).kind != NodeKind::none) {
    const PickleNode& view = item(5);
    if (view.kind != NodeKind::tuple || view.items.size() != 3 || data[view.items[0]].kind != NodeKind::string) {
      throw broken("torch: view of a storage is none", file);
    }
    out.view_key = data[view.items[0]].text;
    out.view_begin = count_of(data[view.items[1]], file);
    const uint64_t size = count_of(data[view.items[2]], file);
    if (checked_add(out.view_begin, size, "torch storage") > out.num_elements) throw broken("torch: view leaves its storage", file);
  }
  return out;
}

}  // namespace veneer::formats
