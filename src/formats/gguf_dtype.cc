#include <algorithm>

#include "formats/gguf.h"

namespace veneer::formats {
namespace {

constexpr auto kTypes = std::to_array<GgufType>({{0, DType::f32},
                                                 {1, DType::f16},
                                                 {2, DType::q4_0},
                                                 {3, DType::q4_1},
                                                 {6, DType::q5_0},
                                                 {7, DType::q5_1},
                                                 {8, DType::q8_0},
                                                 {10, DType::q2_k},
                                                 {11, DType::q3_k},
                                                 {12, DType::q4_k},
                                                 {13, DType::q5_k},
                                                 {14, DType::q6_k},
                                                 {24, DType::i8},
                                                 {25, DType::i16},
                                                 {26, DType::i32},
                                                 {27, DType::i64},
                                                 {28, DType::f64},
                                                 {30, DType::bf16}});

}  // namespace

std::optional<DType> dtype_of_gguf(uint32_t number) {
  const auto* found = std::ranges::find(kTypes, number, &GgufType::number);
  return found != kTypes.end() ? std::optional(found->dtype) : std::nullopt;
}

std::optional<uint32_t> gguf_number_of(DType dtype) {
  const auto* found = std::ranges::find(kTypes, dtype, &GgufType::dtype);
  return found != kTypes.end() ? std::optional(found->number) : std::nullopt;
}

}  // namespace veneer::formats
