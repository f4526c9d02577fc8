#include <algorithm>
#include <cmath>
#include <string>

#include "tensor/convert_scalar.h"
#include "tensor/quantise_kernels.h"
#include "tensor/quantised_blocks.h"
#include "veneer/error.h"

namespace veneer {
namespace {

constexpr size_t kElements = 32;

void put_f16(float value, std::byte* out) {
  const uint16_t bits = scalar::f32_to_f16(value);
  out[0] = static_cast<std::byte>(bits & 0xffU);
  out[1] = static_cast<std::byte>(bits >> 8);
}

// The value whose magnitude is largest, with its sign; the first of equals.
float widest(const float* x) {
  return *std::max_element(x, x + kElements, [](float a, float b) { return std::abs(a) < std::abs(b); });
}

// Truncated and kept within [0, most].
unsigned level(float value, int most) { return static_cast<unsigned>(std::clamp(static_cast<int>(value), 0, most)); }

// Four bits of elements j and j + 16 share a byte; the fifth bits, if any, come first as 32 bits.
void put_levels(const unsigned* levels, bool five_bits, std::byte* out) {
  unsigned high = 0;
  if (five_bits) {
    for (size_t j = 0; j < kElements; ++j) high |= (levels[j] >> 4) << j;
    for (size_t i = 0; i < 4; ++i) *out++ = static_cast<std::byte>((high >> (8 * i)) & 0xffU);
  }
  for (size_t j = 0; j < 16; ++j) *out++ = static_cast<std::byte>((levels[j] & 15U) | ((levels[j + 16] & 15U) << 4));
}

// Levels around zero: the widest value gets the lowest level.
void write_symmetric(const float* x, int bits, std::byte* out) {
  const int half = 1 << (bits - 1);
  const float d = widest(x) / static_cast<float>(-half);
  const float inverse = d != 0 ? 1.0F / d : 0.0F;
  unsigned levels[kElements];
  for (size_t j = 0; j < kElements; ++j) levels[j] = level(x[j] * inverse + static_cast<float>(half) + 0.5F, 2 * half - 1);
  put_f16(d, out);
  put_levels(levels, bits == 5, out + 2);
}

// Levels from the smallest value to the largest.
void write_range(const float* x, int bits, std::byte* out) {
  const auto [low, high] = std::minmax_element(x, x + kElements);
  const int most = (1 << bits) - 1;
  const float d = (*high - *low) / static_cast<float>(most);
  const float inverse = d != 0 ? 1.0F / d : 0.0F;
  unsigned levels[kElements];
  for (size_t j = 0; j < kElements; ++j) levels[j] = level((x[j] - *low) * inverse + 0.5F, most);
  put_f16(d, out);
  put_f16(*low, out + 2);
  put_levels(levels, bits == 5, out + 4);
}

void write_block(DType dtype, const float* x, std::byte* out) {
  switch (dtype) {
    case DType::q4_0: return write_symmetric(x, 4, out);
    case DType::q5_0: return write_symmetric(x, 5, out);
    case DType::q4_1: return write_range(x, 4, out);
    case DType::q5_1: return write_range(x, 5, out);
    default: break;
  }
}

}  // namespace

bool can_quantise(DType dtype) { return is_quantised(dtype); }

void quantise_blocks(DType dtype, std::span<const float> values, std::byte* out) {
  if (!can_quantise(dtype)) {
    throw Error(ErrorCode::unsupported, "quantise: no such target",
                {{"dtype", std::string(to_string(dtype))}, {"allowed", "q8_0 q6_k q5_k q5_1 q5_0 q4_k q4_1 q4_0 q3_k q2_k"}});
  }
  const BlockSize block = block_size(dtype);
  if (dtype == DType::q8_0) return kernels::quantise_q8_0(values.data(), values.size() / block.elements, out);
  const bool large = block.elements == kMaxBlockElements;
  for (size_t i = 0; i * block.elements < values.size(); ++i) {
    const float* from = values.data() + i * block.elements;
    std::byte* to = out + i * block.bytes;
    if (large) {
      quantise_k_block(dtype, from, to);
    } else {
      write_block(dtype, from, to);
    }
  }
}

}  // namespace veneer
