#include "tensor/stochastic_rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "tensor/convert.h"
#include "tensor/convert_scalar.h"
#include "veneer/error.h"

namespace veneer {
namespace {

struct Fp8Format {
  int exponent_bits, mantissa_bits, bias;
  float largest;
};

Fp8Format format_of(DType dtype) {
  if (dtype == DType::f8_e4m3fn) return {4, 3, 7, 448.0F};
  if (dtype == DType::f8_e5m2) return {5, 2, 15, 57344.0F};
  throw Error(ErrorCode::unsupported, "stochastic rounding: target is not an fp8 dtype", {{"dtype", std::string(to_string(dtype))}});
}

float half(float value) { return scalar::f16_to_f32(scalar::f32_to_f16(value)); }

// floor(log2(x)) of each positive float16, where log2 is itself rounded to float16 first; zero gives a number far below every exponent.
const std::array<int16_t, 0x7c00>& half_exponents() {
  static const std::array<int16_t, 0x7c00> kTable = [] {
    std::array<int16_t, 0x7c00> values{};
    values[0] = -1000;
    for (size_t bits = 1; bits < values.size(); ++bits) {
      const double log = std::log2(static_cast<double>(scalar::f16_to_f32(static_cast<uint16_t>(bits))));
      values[bits] = static_cast<int16_t>(std::floor(half(static_cast<float>(log))));
    }
    return values;
  }();
  return kTable;
}

// One element; `bits` is the value as float16.
float round_one(uint16_t bits, float uniform, const Fp8Format& f, const std::array<int16_t, 0x7c00>& exponents) {
  const uint16_t magnitude = bits & 0x7fffU;
  if (magnitude > 0x7c00U) return scalar::f16_to_f32(bits);
  if (magnitude == 0) return 0.0F;
  const float x = scalar::f16_to_f32(magnitude);
  const int top = (1 << f.exponent_bits) - 1;
  const int exponent = magnitude == 0x7c00U ? top : std::clamp(exponents[magnitude] + f.bias, 0, top);
  const float steps = static_cast<float>(1 << f.mantissa_bits);
  float result = 0;
  if (exponent == 0) {
    const float unit = std::ldexp(1.0F, 1 - f.bias - f.mantissa_bits);
    const float mantissa = half(std::floor(half(half(x / unit) + uniform)) / steps);
    result = half(half(std::ldexp(1.0F, 1 - f.bias)) * mantissa);
  } else {
    const float power = half(std::ldexp(1.0F, exponent - f.bias));
    const float scaled = half(half(half(x / power) - 1.0F) * steps);
    const float mantissa = half(std::floor(half(scaled + uniform)) / steps);
    result = half(power * half(1.0F + mantissa));
  }
  if ((bits & 0x8000U) != 0) result = -result;
  return std::clamp(result, -f.largest, f.largest);  // a NaN passes through
}

// Draws of torch.rand in float16, in order.
class HalfUniform {
 public:
  explicit HalfUniform(uint64_t seed) : engine_(static_cast<uint32_t>(seed)) {}
  float operator()() {
    const float value = half(static_cast<float>(engine_() & 0xffffffU) * 0x1p-24F);
    return value >= 1.0F ? 0.0F : value;
  }

 private:
  std::mt19937 engine_;
};

void round_range(std::span<const float> values, std::span<const float> uniform, DType dtype, std::byte* out) {
  const Fp8Format format = format_of(dtype);
  const auto& exponents = half_exponents();
  for (size_t i = 0; i < values.size(); ++i) {
    const float rounded = round_one(scalar::f32_to_f16(values[i]), uniform[i], format, exponents);
    out[i] = static_cast<std::byte>(dtype == DType::f8_e4m3fn ? f32_to_f8_e4m3fn(rounded) : f32_to_f8_e5m2(rounded));
  }
}

// Elements whose draws are kept at a time.
constexpr size_t kBlock = size_t{1} << 16;
constexpr size_t kGrain = size_t{1} << 12;

template <typename Draws>
Tensor round_blocks(const Tensor& value, DType dtype, Draws draws, Allocator& allocator) {
  (void)format_of(dtype);
  if (!is_floating(value.dtype())) {
    throw Error(ErrorCode::unsupported, "stochastic rounding: value is not floating", {{"dtype", std::string(to_string(value.dtype()))}});
  }
  Tensor result = Tensor::empty(value.shape(), dtype, allocator);
  const Tensor values = to_dtype(value, DType::f32);
  const std::span<const float> all = values.floats();
  for (size_t begin = 0; begin < all.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, all.size() - begin);
    const std::span<const float> uniform = draws(begin, count);
    std::byte* out = result.mutable_bytes() + begin;
    parallel_for(count, kGrain, [&](size_t first, size_t last) {
      round_range(all.subspan(begin + first, last - first), uniform.subspan(first, last - first), dtype, out + first);
    });
  }
  return result;
}

// Reads one code point at `i` and moves past it.
uint32_t next_code_point(std::string_view text, size_t& i) {
  const auto lead = static_cast<uint8_t>(text[i]);
  const size_t length = lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc0 && lead < 0xe0 ? 2 : 1;
  uint32_t point = length == 1 ? lead : lead & (0xffU >> (length + 1));
  bool whole = i + length <= text.size();
  for (size_t k = 1; whole && k < length; ++k) {
    const auto byte = static_cast<uint8_t>(text[i + k]);
    whole = (byte & 0xc0U) == 0x80U;
    point = (point << 6) | (byte & 0x3fU);
  }
  i += whole ? length : 1;
  return whole ? point : lead;
}

}  // namespace

uint32_t string_to_seed(std::string_view text) {
  uint32_t crc = 0xffffffffU;
  for (size_t i = 0; i < text.size();) {
    crc ^= next_code_point(text, i);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return crc ^ 0xffffffffU;
}

Tensor stochastic_round(const Tensor& value, DType dtype, uint64_t seed, Allocator& allocator) {
  HalfUniform uniform(seed);
  std::vector<float> block;
  return round_blocks(
      value, dtype,
      [&](size_t, size_t count) {
        block.resize(count);
        std::generate(block.begin(), block.end(), [&] { return uniform(); });
        return std::span<const float>(block);
      },
      allocator);
}

Tensor stochastic_round(const Tensor& value, DType dtype, std::span<const float> uniform, Allocator& allocator) {
  if (static_cast<int64_t>(uniform.size()) != value.num_elements()) {
    throw Error(ErrorCode::invalid, "stochastic rounding: draws do not fit the tensor",
                {{"shape", value.shape().to_string()}, {"draws", std::to_string(uniform.size())}});
  }
  return round_blocks(
      value, dtype, [&](size_t begin, size_t count) { return uniform.subspan(begin, count); }, allocator);
}

}  // namespace veneer
