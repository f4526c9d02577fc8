#include "tensor/dtype.h"

#include <array>
#include <string>

#include "veneer/error.h"

namespace veneer {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  size_t size;
  bool floating;
};

// Indexed by the enumerator's value.
constexpr std::array<DTypeFacts, 15> kFacts = {{
    {DType::f64, "f64", 8, true},
    {DType::f32, "f32", 4, true},
    {DType::f16, "f16", 2, true},
    {DType::bf16, "bf16", 2, true},
    {DType::f8_e4m3fn, "f8_e4m3fn", 1, true},
    {DType::f8_e5m2, "f8_e5m2", 1, true},
    {DType::i64, "i64", 8, false},
    {DType::i32, "i32", 4, false},
    {DType::i16, "i16", 2, false},
    {DType::i8, "i8", 1, false},
    {DType::u64, "u64", 8, false},
    {DType::u32, "u32", 4, false},
    {DType::u16, "u16", 2, false},
    {DType::u8, "u8", 1, false},
    {DType::boolean, "bool", 1, false},
}};

const DTypeFacts& facts(DType dtype) { return kFacts[static_cast<size_t>(dtype)]; }

}  // namespace

size_t size_of(DType dtype) { return facts(dtype).size; }
std::string_view to_string(DType dtype) { return facts(dtype).name; }
bool is_floating(DType dtype) { return facts(dtype).floating; }

DType dtype_from_string(std::string_view name) {
  std::string allowed;
  for (const DTypeFacts& entry : kFacts) {
    if (entry.name == name) return entry.dtype;
    if (!allowed.empty()) allowed += ' ';
    allowed += entry.name;
  }
  throw Error(ErrorCode::invalid, "unknown dtype", {{"dtype", std::string(name)}, {"allowed", allowed}});
}

}  // namespace veneer
