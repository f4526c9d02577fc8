#include <array>
#include <cstring>
#include <string>

#include "tensor/convert_scalar.h"
#include "tensor/quantised_blocks.h"
#include "veneer/error.h"

namespace veneer {
namespace {

// Reads bytes of a block; numbers are little-endian and unaligned.
class Block {
 public:
  explicit Block(const std::byte* bytes) : bytes_(bytes) {}
  unsigned u8(size_t at) const { return std::to_integer<unsigned>(bytes_[at]); }
  int i8(size_t at) const { return static_cast<int8_t>(u8(at)); }
  float f16(size_t at) const { return scalar::f16_to_f32(static_cast<uint16_t>(u8(at) | (u8(at + 1) << 8))); }
  unsigned u32(size_t at) const { return u8(at) | (u8(at + 1) << 8) | (u8(at + 2) << 16) | (u8(at + 3) << 24); }

 private:
  const std::byte* bytes_;
};

float number(unsigned value) { return static_cast<float>(static_cast<int>(value)); }
float number(int value) { return static_cast<float>(value); }

void read_q4_0(const Block& b, float* out) {
  const float d = b.f16(0);
  for (size_t j = 0; j < 16; ++j) {
    const unsigned q = b.u8(2 + j);
    out[j] = number(static_cast<int>(q & 15U) - 8) * d;
    out[j + 16] = number(static_cast<int>(q >> 4) - 8) * d;
  }
}

void read_q4_1(const Block& b, float* out) {
  const float d = b.f16(0), m = b.f16(2);
  for (size_t j = 0; j < 16; ++j) {
    const unsigned q = b.u8(4 + j);
    out[j] = number(q & 15U) * d + m;
    out[j + 16] = number(q >> 4) * d + m;
  }
}

// The fifth bits of elements j and j + 16, at their place.
unsigned fifth_low(unsigned high, size_t j) { return ((high >> j) & 1U) << 4; }
unsigned fifth_high(unsigned high, size_t j) { return ((high >> (j + 16)) & 1U) << 4; }

void read_q5_0(const Block& b, float* out) {
  const float d = b.f16(0);
  const unsigned high = b.u32(2);
  for (size_t j = 0; j < 16; ++j) {
    const unsigned q = b.u8(6 + j);
    out[j] = number(static_cast<int>((q & 15U) | fifth_low(high, j)) - 16) * d;
    out[j + 16] = number(static_cast<int>((q >> 4) | fifth_high(high, j)) - 16) * d;
  }
}

void read_q5_1(const Block& b, float* out) {
  const float d = b.f16(0), m = b.f16(2);
  const unsigned high = b.u32(4);
  for (size_t j = 0; j < 16; ++j) {
    const unsigned q = b.u8(8 + j);
    out[j] = number((q & 15U) | fifth_low(high, j)) * d + m;
    out[j + 16] = number((q >> 4) | fifth_high(high, j)) * d + m;
  }
}

void read_q8_0(const Block& b, float* out) {
  const float d = b.f16(0);
  for (size_t j = 0; j < 32; ++j) out[j] = number(b.i8(2 + j)) * d;
}

// 16 scales and minima of four bits, 256 values of two bits, d, dmin.
void read_q2_k(const Block& b, float* out) {
  const float d = b.f16(80), min = b.f16(82);
  for (size_t group = 0; group < 16; ++group) {  // of 16 elements
    const unsigned scale = b.u8(group);
    const float dl = d * number(scale & 15U), ml = min * number(scale >> 4);
    const size_t q = 16 + group / 8 * 32 + group % 2 * 16;
    const unsigned shift = static_cast<unsigned>(group % 8 / 2) * 2;
    for (size_t l = 0; l < 16; ++l) *out++ = dl * number((b.u8(q + l) >> shift) & 3U) - ml;
  }
}

// 256 high bits, 256 values of two bits, 16 scales of six bits, d.
void read_q3_k(const Block& b, float* out) {
  const float d = b.f16(108);
  for (size_t group = 0; group < 16; ++group) {
    const unsigned low = group < 8 ? b.u8(96 + group) & 15U : b.u8(96 + group - 8) >> 4;
    const unsigned high = (b.u8(104 + group % 4) >> (2 * (group / 4))) & 3U;
    const float dl = d * number(static_cast<int>(low | (high << 4)) - 32);
    const size_t q = 32 + group / 8 * 32 + group % 2 * 16, mask = group % 2 * 16;
    const unsigned shift = static_cast<unsigned>(group % 8 / 2) * 2, bit = static_cast<unsigned>(group / 2);
    for (size_t l = 0; l < 16; ++l) {
      const int value = static_cast<int>((b.u8(q + l) >> shift) & 3U) - (((b.u8(mask + l) >> bit) & 1U) != 0 ? 0 : 4);
      *out++ = dl * number(value);
    }
  }
}

struct ScaleAndMin {
  unsigned scale, min;
};

// Eight scales and eight minima of six bits in twelve bytes from `at` on.
ScaleAndMin scale_and_min(const Block& b, size_t at, size_t j) {
  if (j < 4) return {b.u8(at + j) & 63U, b.u8(at + j + 4) & 63U};
  return {(b.u8(at + j + 4) & 15U) | ((b.u8(at + j - 4) >> 6) << 4), (b.u8(at + j + 4) >> 4) | ((b.u8(at + j) >> 6) << 4)};
}

void read_q4_k(const Block& b, float* out) {
  const float d = b.f16(0), min = b.f16(2);
  for (size_t group = 0; group < 8; ++group) {  // of 32 elements
    const auto [scale, minimum] = scale_and_min(b, 4, group);
    const float dl = d * number(scale), ml = min * number(minimum);
    const unsigned shift = group % 2 * 4;
    for (size_t l = 0; l < 32; ++l) *out++ = dl * number((b.u8(16 + group / 2 * 32 + l) >> shift) & 15U) - ml;
  }
}

void read_q5_k(const Block& b, float* out) {
  const float d = b.f16(0), min = b.f16(2);
  for (size_t group = 0; group < 8; ++group) {
    const auto [scale, minimum] = scale_and_min(b, 4, group);
    const float dl = d * number(scale), ml = min * number(minimum);
    const unsigned shift = group % 2 * 4;
    for (size_t l = 0; l < 32; ++l) {
      const unsigned low = (b.u8(48 + group / 2 * 32 + l) >> shift) & 15U, high = (b.u8(16 + l) >> group) & 1U;
      *out++ = dl * number(low + high * 16) - ml;
    }
  }
}

// 256 values of four low bits, then of two high bits, 16 scales of eight bits, d.
void read_q6_k(const Block& b, float* out) {
  const float d = b.f16(208);
  for (size_t half = 0; half < 2; ++half) {
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      for (size_t l = 0; l < 32; ++l) {
        const unsigned low = (b.u8(half * 64 + quarter % 2 * 32 + l) >> (quarter / 2 * 4)) & 15U;
        const unsigned high = (b.u8(128 + half * 32 + l) >> (2 * quarter)) & 3U;
        const int scale = b.i8(192 + half * 8 + quarter * 2 + l / 16);
        *out++ = d * number(scale) * number(static_cast<int>(low | (high << 4)) - 32);
      }
    }
  }
}

using ReadBlock = void (*)(const Block& block, float* out);

ReadBlock reader_of(DType dtype) {
  switch (dtype) {
    case DType::q4_0: return read_q4_0;
    case DType::q4_1: return read_q4_1;
    case DType::q5_0: return read_q5_0;
    case DType::q5_1: return read_q5_1;
    case DType::q8_0: return read_q8_0;
    case DType::q2_k: return read_q2_k;
    case DType::q3_k: return read_q3_k;
    case DType::q4_k: return read_q4_k;
    case DType::q5_k: return read_q5_k;
    case DType::q6_k: return read_q6_k;
    default: throw Error(ErrorCode::internal, "dequantise: dtype has no blocks", {{"dtype", std::string(to_string(dtype))}});
  }
}

}  // namespace

void dequantise_blocks(DType dtype, const std::byte* blocks, size_t num_blocks, float* out) {
  const ReadBlock read = reader_of(dtype);
  const BlockSize size = block_size(dtype);
  for (size_t i = 0; i < num_blocks; ++i) read(Block(blocks + i * size.bytes), out + i * size.elements);
}

}  // namespace veneer
