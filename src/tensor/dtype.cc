#include "tensor/dtype.h"

#include <array>
#include <string>

#include "base/checked.h"
#include "veneer/error.h"

namespace veneer {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  size_t size;  // of a block
  bool floating;
  size_t block = 1;  // elements
};

// Indexed by the enumerator's value.
constexpr std::array<DTypeFacts, 25> kFacts = {{
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
    {DType::q4_0, "q4_0", 18, true, 32},
    {DType::q4_1, "q4_1", 20, true, 32},
    {DType::q5_0, "q5_0", 22, true, 32},
    {DType::q5_1, "q5_1", 24, true, 32},
    {DType::q8_0, "q8_0", 34, true, 32},
    {DType::q2_k, "q2_k", 84, true, 256},
    {DType::q3_k, "q3_k", 110, true, 256},
    {DType::q4_k, "q4_k", 144, true, 256},
    {DType::q5_k, "q5_k", 176, true, 256},
    {DType::q6_k, "q6_k", 210, true, 256},
}};

const DTypeFacts& facts(DType dtype) { return kFacts[static_cast<size_t>(dtype)]; }

}  // namespace

BlockSize block_size(DType dtype) { return {facts(dtype).block, facts(dtype).size}; }
bool is_quantised(DType dtype) { return facts(dtype).block > 1; }

uint64_t storage_bytes(DType dtype, uint64_t num_elements) {
  const DTypeFacts& of = facts(dtype);
  if (of.block > 1 && num_elements % of.block != 0) {
    throw Error(ErrorCode::corrupt, "tensor: elements do not fill whole blocks",
                {{"dtype", std::string(of.name)}, {"elements", std::to_string(num_elements)}, {"block", std::to_string(of.block)}});
  }
  return checked_mul(num_elements / of.block, of.size, "tensor");
}

size_t size_of(DType dtype) {
  const DTypeFacts& of = facts(dtype);
  if (of.block > 1)
    throw Error(ErrorCode::unsupported, "elements of a quantised tensor have no bytes of their own", {{"dtype", std::string(of.name)}});
  return of.size;
}

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
