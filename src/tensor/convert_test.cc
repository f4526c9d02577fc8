#include "tensor/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "veneer/error.h"

namespace veneer {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A small float type, described; the slow truth below knows nothing of bit tricks.
struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr Format kF16 = {5, 10, true}, kBf16 = {8, 7, true}, kE4M3FN = {4, 3, false}, kE5M2 = {5, 2, true};

double decode(uint32_t bits, const Format& f) {
  const uint32_t mantissa = bits & ((1U << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>((bits >> f.mantissa_bits) & ((1U << f.exponent_bits) - 1));
  const double sign = (bits >> (f.mantissa_bits + f.exponent_bits)) != 0 ? -1 : 1;
  const int top = (1 << f.exponent_bits) - 1;
  if (f.has_infinity && exponent == top) return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (!f.has_infinity && exponent == top && mantissa == (1U << f.mantissa_bits) - 1) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias() - f.mantissa_bits);
  return sign * std::ldexp(mantissa + (1U << f.mantissa_bits), exponent - f.bias() - f.mantissa_bits);
}

// Nearest, ties to even, by scaling to the target's unit in double.
double round_slowly(float value, const Format& f) {
  if (std::isnan(value)) return std::nan("");
  const double x = static_cast<double>(value);
  if (x == 0 || std::isinf(x)) return std::isinf(x) && !f.has_infinity ? std::nan("") : x;
  const int exponent = std::max(std::ilogb(x), 1 - f.bias());
  const int unit = exponent - f.mantissa_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  const int top = (1 << f.exponent_bits) - 1;
  const double largest = f.has_infinity ? std::ldexp(2.0 - std::ldexp(1, -f.mantissa_bits), top - 1 - f.bias())
                                        : std::ldexp(2.0 - std::ldexp(1, 1 - f.mantissa_bits), top - f.bias());
  if (std::abs(rounded) <= largest) return rounded;
  return f.has_infinity ? std::copysign(std::numeric_limits<double>::infinity(), x) : std::nan("");
}

void expect_same(double got, double want, double input) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << input;
  } else {
    EXPECT_EQ(got, want) << input;
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << input;
  }
}

std::vector<float> awkward_values(const Format& f) {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               kInf,
                               -kInf,
                               kNan,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::min(),
                               std::numeric_limits<float>::denorm_min(),
                               464.0F,
                               465.0F,
                               480.0F,
                               65519.9F,
                               65520.0F,
                               61439.0F,
                               61440.0F,
                               65536.0F};
  // Each value of the type, the midpoint to its neighbour, and the floats around both.
  const uint32_t patterns = 1U << (f.exponent_bits + f.mantissa_bits);
  for (uint32_t bits = 0; bits + 1 < patterns; ++bits) {
    const double a = decode(bits, f), b = decode(bits + 1, f);
    if (!std::isfinite(a)) continue;
    for (const double centre : {a, std::isfinite(b) ? (a + b) / 2 : a * 1.25}) {
      const auto c = static_cast<float>(centre);
      for (const float v : {c, std::nextafter(c, kInf), std::nextafter(c, -kInf)}) values.insert(values.end(), {v, -v});
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  return values;
}

TEST(Convert, F16MatchesTheSlowTruth) {
  for (const float v : awkward_values(kF16))
    expect_same(static_cast<double>(f16_to_f32(f32_to_f16(v))), round_slowly(v, kF16), static_cast<double>(v));
}

TEST(Convert, Bf16MatchesTheSlowTruth) {
  for (const float v : awkward_values(kBf16))
    expect_same(static_cast<double>(bf16_to_f32(f32_to_bf16(v))), round_slowly(v, kBf16), static_cast<double>(v));
}

TEST(Convert, Fp8MatchesTheSlowTruth) {
  for (const float v : awkward_values(kE4M3FN)) {
    expect_same(static_cast<double>(f8_e4m3fn_to_f32(f32_to_f8_e4m3fn(v))), round_slowly(v, kE4M3FN), static_cast<double>(v));
  }
  for (const float v : awkward_values(kE5M2)) {
    expect_same(static_cast<double>(f8_e5m2_to_f32(f32_to_f8_e5m2(v))), round_slowly(v, kE5M2), static_cast<double>(v));
  }
}

TEST(Convert, EveryPatternDecodesToItsValueAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    expect_same(static_cast<double>(f16_to_f32(b)), decode(bits, kF16), bits);
    expect_same(static_cast<double>(bf16_to_f32(b)), decode(bits, kBf16), bits);
    if (!std::isnan(f16_to_f32(b))) {
      EXPECT_EQ(f32_to_f16(f16_to_f32(b)), b);
    }
    if (!std::isnan(bf16_to_f32(b))) {
      EXPECT_EQ(f32_to_bf16(bf16_to_f32(b)), b);
    }
  }
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto b = static_cast<uint8_t>(bits);
    expect_same(static_cast<double>(f8_e4m3fn_to_f32(b)), decode(bits, kE4M3FN), bits);
    expect_same(static_cast<double>(f8_e5m2_to_f32(b)), decode(bits, kE5M2), bits);
    if (!std::isnan(f8_e4m3fn_to_f32(b))) {
      EXPECT_EQ(f32_to_f8_e4m3fn(f8_e4m3fn_to_f32(b)), b);
    }
    if (!std::isnan(f8_e5m2_to_f32(b))) {
      EXPECT_EQ(f32_to_f8_e5m2(f8_e5m2_to_f32(b)), b);
    }
  }
}

TEST(Convert, OverflowFollowsTheTargetsOwnRule) {
  EXPECT_EQ(f32_to_f8_e4m3fn(464.0F), 0x7e);  // a tie, 448 is even
  EXPECT_EQ(f32_to_f8_e4m3fn(-465.0F), 0xff);
  EXPECT_EQ(f32_to_f8_e5m2(61440.0F), 0x7c);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7c00);
}

TEST(Convert, TensorsGoBetweenAllFloatingDtypes) {
  const std::vector<DType> dtypes = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2};
  const std::array<float, 6> values = {0, -1.5F, 0.25F, 6, -0.0078125F, 448};
  for (const DType from : dtypes) {
    const Tensor source = to_dtype(Tensor::from({2, 3}, values), from);
    EXPECT_EQ(source.dtype(), from);
    for (const DType to : dtypes) {
      const Tensor back = to_dtype(to_dtype(source, to), DType::f32);
      EXPECT_EQ(back.shape(), Shape({2, 3}));
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(back.floats()[i], round_to(round_to(values[i], from), to)) << to_string(from) << " " << to_string(to) << " " << i;
      }
    }
  }
}

TEST(Convert, IntegersBecomeFloatsAndKeepTheirBitsInF64) {
  Tensor big = Tensor::empty({2}, DType::i64);
  big.mutable_data<int64_t>()[0] = (int64_t{1} << 40) + 1;
  big.mutable_data<int64_t>()[1] = -3;
  EXPECT_EQ(to_dtype(big, DType::f64).data<double>()[0], 1099511627777.0);
  EXPECT_EQ(to_dtype(big, DType::bf16).data<uint16_t>()[1], f32_to_bf16(-3));
  Tensor flags = Tensor::zeros({2}, DType::boolean);
  flags.mutable_bytes()[1] = std::byte{1};
  EXPECT_EQ(to_dtype(flags, DType::f32).floats()[1], 1.0F);
  EXPECT_THROW(to_dtype(big, DType::i32), Error);
}

TEST(Convert, SharesWhatNeedsNoChangeAndCopiesWhatIsUnaligned) {
  const Tensor whole = Tensor::from({2}, std::array<float, 2>{1, 2});
  EXPECT_EQ(to_dtype(whole, DType::f32).bytes(), whole.bytes());
  const auto bytes = std::make_shared<std::array<std::byte, 16>>();
  const std::array<float, 2> values = {3, 4};
  std::memcpy(bytes->data() + 1, values.data(), sizeof values);
  const Tensor shifted = Tensor::view({2}, DType::f32, bytes->data() + 1, bytes);
  const Tensor fixed = to_dtype(shifted, DType::f32);
  EXPECT_TRUE(fixed.aligned());
  EXPECT_EQ(fixed.floats()[1], 4);
  const Tensor halves = to_dtype(shifted, DType::f16);
  EXPECT_EQ(halves.data<uint16_t>()[0], f32_to_f16(3));
}

TEST(Convert, LargeTensorsAreWholeAfterAParallelConversion) {
  std::vector<float> values(300001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.37F - 999.0F;
  const Tensor source = Tensor::from({300001}, values);
  const Tensor halves = to_dtype(source, DType::f16);
  std::vector<float> back(values.size());
  copy_to_f32(halves, back);
  for (size_t i = 0; i < values.size(); i += 1) ASSERT_EQ(back[i], f16_to_f32(f32_to_f16(values[i])));
  std::vector<float> small(3);
  EXPECT_THROW(copy_to_f32(halves, small), Error);
}

// The bulk conversions run other code than the scalar ones; they have to give the same bits.
template <typename Bits, typename Scalar>
void expect_bulk_equals_scalar(const Format& format, DType dtype, Scalar scalar) {
  const std::vector<float> values = awkward_values(format);
  const Tensor bulk = to_dtype(Tensor::from({static_cast<int64_t>(values.size())}, values), dtype);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(bulk.data<Bits>()[i], scalar(values[i])) << values[i];
}

TEST(Convert, BulkNarrowingGivesTheScalarBits) {
  expect_bulk_equals_scalar<uint16_t>(kF16, DType::f16, f32_to_f16);
  expect_bulk_equals_scalar<uint16_t>(kBf16, DType::bf16, f32_to_bf16);
  expect_bulk_equals_scalar<uint8_t>(kE4M3FN, DType::f8_e4m3fn, f32_to_f8_e4m3fn);
  expect_bulk_equals_scalar<uint8_t>(kE5M2, DType::f8_e5m2, f32_to_f8_e5m2);
}

TEST(Convert, BulkWideningGivesTheScalarBits) {
  Tensor patterns = Tensor::empty({65536}, DType::f16);
  for (size_t i = 0; i < 65536; ++i) patterns.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(i);
  const Tensor brain = Tensor::view({65536}, DType::bf16, patterns.bytes(), std::make_shared<Tensor>(patterns));
  const Tensor wide = to_dtype(patterns, DType::f32), wide_brain = to_dtype(brain, DType::f32);
  for (size_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    ASSERT_EQ(std::bit_cast<uint32_t>(wide.floats()[i]), std::bit_cast<uint32_t>(f16_to_f32(bits)));
    ASSERT_EQ(std::bit_cast<uint32_t>(wide_brain.floats()[i]), std::bit_cast<uint32_t>(bf16_to_f32(bits)));
  }
}

}  // namespace
}  // namespace veneer
