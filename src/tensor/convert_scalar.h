// The arithmetic of convert.h's scalar casts, inline and without branches, so that loops over them become vector code.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace veneer::scalar {

inline float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t rest = static_cast<uint32_t>(bits & 0x7fffU) << 13;
  const uint32_t normal = rest + (112U << 23);   // moves the exponent's bias from 15 to 127
  const uint32_t special = rest + (224U << 23);  // exponent 31 becomes 255
  // 2^-14 * (1 + m / 1024) - 2^-14: no subnormal f32 takes part, so a thread that flushes them to zero gets the same.
  const float tiny = std::bit_cast<float>(normal + (1U << 23)) - std::bit_cast<float>(113U << 23);
  uint32_t result = rest >= (31U << 23) ? special : normal;
  result |= rest > (31U << 23) ? 0x400000U : 0U;  // a NaN becomes quiet, as in the machine's instruction
  result = rest < (1U << 23) ? std::bit_cast<uint32_t>(tiny) : result;
  return std::bit_cast<float>(result | sign);
}

inline uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rest = bits & 0x7fffffffU;
  const uint32_t odd = (rest >> 13) & 1U;
  const uint32_t normal = (rest - (112U << 23) + 0xfffU + odd) >> 13;
  // Adding 0.5 puts f16's subnormal unit, 2^-24, at the last bit of an f32: the addition rounds.
  const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3f000000U;
  uint32_t result = rest < 0x38800000U ? tiny : normal;
  result = rest >= 0x47800000U ? 0x7c00U : result;
  result = rest > 0x7f800000U ? 0x7e00U : result;
  return static_cast<uint16_t>(result | ((bits >> 16) & 0x8000U));
}

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? 0x7fc0U : rounded);
}

// An 8-bit type with an exponent of kExponentBits bits, bias 2^(kExponentBits-1) - 1, and 7 - kExponentBits mantissa bits.
template <int kExponentBits, bool kHasInfinity>
struct Fp8 {
  static constexpr int kMantissaBits = 7 - kExponentBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kShift = 23 - kMantissaBits;

  static constexpr float decode(uint8_t bits) {
    const uint32_t exponent = (bits & 0x7fU) >> kMantissaBits;
    const uint32_t mantissa = bits & ((1U << kMantissaBits) - 1U);
    const uint32_t sign = static_cast<uint32_t>(bits & 0x80U) << 24;
    if (kHasInfinity ? exponent == (1U << kExponentBits) - 1U : (bits & 0x7fU) == 0x7fU) {
      return std::bit_cast<float>(sign | 0x7f800000U | (!kHasInfinity || mantissa != 0 ? 0x400000U : 0U));
    }
    const float unit = std::bit_cast<float>(static_cast<uint32_t>(127 + 1 - kBias - kMantissaBits) << 23);
    if (exponent == 0) {
      const float tiny = static_cast<float>(mantissa) * unit;
      return std::bit_cast<float>(std::bit_cast<uint32_t>(tiny) | sign);
    }
    return std::bit_cast<float>(sign | ((exponent + static_cast<uint32_t>(127 - kBias)) << 23) | (mantissa << kShift));
  }

  static uint8_t encode(float value) {
    constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(127 + 1 - kBias) << 23;
    // A power of two whose f32 unit is the target's subnormal unit.
    constexpr uint32_t kMagic = static_cast<uint32_t>(127 + 1 - kBias - kMantissaBits + 23) << 23;
    // The first value that the rounding below could not represent: 480 for e4m3fn, 65536 for e5m2.
    constexpr uint32_t kLimit = kHasInfinity ? kRebias + (((1U << kExponentBits) - 1U) << 23) : kRebias + (0x7fU << kShift);
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t rest = bits & 0x7fffffffU;
    const uint32_t odd = (rest >> kShift) & 1U;
    const uint32_t normal = (rest - kRebias + ((1U << (kShift - 1)) - 1U) + odd) >> kShift;
    const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + std::bit_cast<float>(kMagic)) - kMagic;
    const uint32_t overflow = kHasInfinity ? ((1U << kExponentBits) - 1U) << kMantissaBits : 0x7fU;
    uint32_t result = rest < kSmallestNormal ? tiny : normal;
    result = rest >= kLimit ? overflow : result;
    result = rest > 0x7f800000U ? 0x7fU : result;
    return static_cast<uint8_t>(result | ((bits >> 24) & 0x80U));
  }

  static constexpr std::array<float, 256> table() {
    std::array<float, 256> values{};
    for (size_t i = 0; i < values.size(); ++i) values[i] = decode(static_cast<uint8_t>(i));
    return values;
  }
};

using F8E4M3FN = Fp8<4, false>;
using F8E5M2 = Fp8<5, true>;

inline constexpr std::array<float, 256> kF8E4M3FN = F8E4M3FN::table();
inline constexpr std::array<float, 256> kF8E5M2 = F8E5M2::table();

}  // namespace veneer::scalar
