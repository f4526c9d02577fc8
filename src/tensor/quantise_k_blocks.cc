// Blocks of 256 elements whose parts of 16 or 32 have scales (and minima) of their own, which are whole numbers times that of the block. Layout:
// docs/formats/gguf.md. Each part is fitted by least squares: levels and scale in turn, from several beginnings; then its whole numbers are tried
// with their neighbours. What is smallest is the sum of squared differences.
#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/convert_scalar.h"
#include "tensor/quantised_blocks.h"

namespace veneer {
namespace {

constexpr size_t kElements = kMaxBlockElements;
constexpr size_t kMostOfAPart = 32;
constexpr int kRounds = 3;
constexpr float kSmallestScale = 1e-30F;

using Levels = std::array<float, kMostOfAPart>;  // whole numbers

// The elements of a part, which is `scale * level + offset`; levels are low ... low + most.
struct Part {
  const float* x;
  size_t size;
  int low, most;
};

struct Fit {
  float scale = 0, offset = 0;
};

// The level that is nearest to each element.
void assign(const Part& part, const Fit& fit, Levels& levels) {
  // A smaller scale is none in f16, and its inverse might be infinite.
  const float inverse = std::abs(fit.scale) > kSmallestScale ? 1.0F / fit.scale : 0.0F;
  const float base = static_cast<float>(-part.low) + 0.5F, top = static_cast<float>(part.most) + 0.5F, low = static_cast<float>(part.low);
  for (size_t j = 0; j < part.size; ++j) {
    const float level = std::min(std::max((part.x[j] - fit.offset) * inverse + base, 0.0F), top);
    levels[j] = static_cast<float>(static_cast<int>(level)) + low;
  }
}

float squares(const Part& part, const Fit& fit, const Levels& levels) {
  float sum = 0;
  for (size_t j = 0; j < part.size; ++j) {
    const float difference = part.x[j] - (fit.scale * levels[j] + fit.offset);
    sum += difference * difference;
  }
  return sum;
}

// The scale that is best for the levels.
Fit solve_scale(const Part& part, const Levels& levels) {
  float lx = 0, ll = 0;
  for (size_t j = 0; j < part.size; ++j) {
    lx += levels[j] * part.x[j];
    ll += levels[j] * levels[j];
  }
  return {ll > 0 ? lx / ll : 0.0F, 0};
}

// The scale and the offset, which is not above zero.
Fit solve_both(const Part& part, const Levels& levels) {
  float l = 0, ll = 0, x = 0, lx = 0;
  for (size_t j = 0; j < part.size; ++j) {
    l += levels[j];
    ll += levels[j] * levels[j];
    x += part.x[j];
    lx += levels[j] * part.x[j];
  }
  const auto n = static_cast<float>(part.size);
  const float determinant = n * ll - l * l;
  if (!(determinant > 0)) return x > 0 ? solve_scale(part, levels) : Fit{0, std::min(x / n, 0.0F)};  // all levels are one
  const float scale = (n * lx - l * x) / determinant, offset = (x - scale * l) / n;
  if (offset > 0) return solve_scale(part, levels);
  return scale > 0 ? Fit{scale, offset} : Fit{0, std::min(x / n, 0.0F)};
}

// Improves a beginning, and keeps it when it is the best so far.
template <typename Solve>
void improve(const Part& part, Fit fit, Solve solve, Fit& best, float& least) {
  Levels levels;
  for (int round = 0; round < kRounds; ++round) {
    assign(part, fit, levels);
    fit = solve(part, levels);
    const float sum = squares(part, fit, levels);
    if (sum < least) {
      least = sum;
      best = fit;
    }
  }
}

// Values from the smallest, or zero, to the largest.
Fit fit_range(const Part& part) {
  const auto [low, high] = std::minmax_element(part.x, part.x + part.size);
  const float offset = std::min(*low, 0.0F), width = *high - offset;
  Fit best{0, offset};
  if (!(width > 0)) return best;
  Levels levels{};
  float least = squares(part, best, levels);
  for (const float shrink : {1.0F, 0.92F, 0.84F, 0.76F, 0.66F}) {
    improve(part, {width * shrink / static_cast<float>(part.most), offset}, solve_both, best, least);
  }
  return best;
}

// Values around zero; the scale may be negative, since there is one level more below zero than above.
Fit fit_around_zero(const Part& part) {
  const float widest = *std::max_element(part.x, part.x + part.size, [](float a, float b) { return std::abs(a) < std::abs(b); });
  Fit best;
  if (widest == 0) return best;
  Levels levels{};
  float least = squares(part, best, levels);
  const auto below = static_cast<float>(part.low), above = static_cast<float>(part.low + part.most);
  for (const float shrink : {1.0F, 0.93F, 0.86F, 0.78F}) {
    improve(part, {widest * shrink / below, 0}, solve_scale, best, least);
    improve(part, {widest * shrink / above, 0}, solve_scale, best, least);
  }
  return best;
}

float f16_of(float value) { return scalar::f16_to_f32(scalar::f32_to_f16(value)); }

// A block as its format has it, before it is packed.
struct Block {
  float d = 0, min = 0;                      // as f16 holds them
  std::array<int, 16> scales{}, mins{};      // of the parts
  std::array<unsigned, kElements> levels{};  // from zero
};

int nearest(float value, float unit, int lowest, int highest) {
  return unit != 0 ? static_cast<int>(std::clamp(std::round(value / unit), static_cast<float>(lowest), static_cast<float>(highest))) : 0;
}

// Takes the whole numbers around `scale` and `min` that are best, and the levels for them.
void settle(const Part& part, size_t index, int scale, int min, int lowest, int highest, Block& out) {
  Levels levels, best{};
  float least = INFINITY;
  for (int s = std::max(scale - 1, lowest); s <= std::min(scale + 1, highest); ++s) {
    for (int m = std::max(min - 1, 0); m <= (out.min != 0 ? std::min(min + 1, highest) : 0); ++m) {
      const Fit fit{out.d * static_cast<float>(s), -out.min * static_cast<float>(m)};
      assign(part, fit, levels);
      const float sum = squares(part, fit, levels);
      if (!(sum < least)) continue;
      least = sum;
      best = levels;
      out.scales[index] = s;
      out.mins[index] = m;
    }
  }
  for (size_t j = 0; j < part.size; ++j) out.levels[index * part.size + j] = static_cast<unsigned>(static_cast<int>(best[j]) - part.low);
}

// Parts of `size` with scales and minima of at most `highest`.
Block make_range(const float* x, size_t size, int most, int highest) {
  const size_t parts = kElements / size;
  std::array<Fit, 16> fits;
  float scale = 0, min = 0;
  for (size_t i = 0; i < parts; ++i) {
    fits[i] = fit_range({x + i * size, size, 0, most});
    scale = std::max(scale, fits[i].scale);
    min = std::max(min, -fits[i].offset);
  }
  Block out;
  out.d = f16_of(scale / static_cast<float>(highest));
  out.min = f16_of(min / static_cast<float>(highest));
  for (size_t i = 0; i < parts; ++i) {
    settle({x + i * size, size, 0, most}, i, nearest(fits[i].scale, out.d, 0, highest), nearest(-fits[i].offset, out.min, 0, highest), 0, highest,
           out);
  }
  return out;
}

// Parts of 16 with levels of `half` below zero, and scales from -half_scale up.
Block make_around_zero(const float* x, int half, int half_scale) {
  constexpr size_t kSize = 16;
  std::array<float, 16> scales;
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = fit_around_zero({x + i * kSize, kSize, -half, 2 * half - 1}).scale;
  const float widest = *std::ranges::max_element(scales, {}, [](float value) { return std::abs(value); });
  Block out;
  out.d = f16_of(widest / static_cast<float>(-half_scale));
  for (size_t i = 0; i < scales.size(); ++i) {
    settle({x + i * kSize, kSize, -half, 2 * half - 1}, i, nearest(scales[i], out.d, -half_scale, half_scale - 1), 0, -half_scale, half_scale - 1,
           out);
  }
  return out;
}

void put_f16(float value, std::byte* out) {
  const uint16_t bits = scalar::f32_to_f16(value);
  out[0] = static_cast<std::byte>(bits & 0xffU);
  out[1] = static_cast<std::byte>(bits >> 8);
}

void add_bits(std::byte& to, unsigned bits, unsigned shift) { to |= static_cast<std::byte>((bits << shift) & 0xffU); }

// Two bits of each element: of four parts of 32 in one byte.
void put_two_bits(const Block& block, std::byte* out) {
  for (size_t i = 0; i < kElements; ++i) add_bits(out[i / 128 * 32 + i % 32], block.levels[i] & 3U, static_cast<unsigned>(i % 128 / 32) * 2);
}

// Four low bits: of two parts of 32 in one byte.
void put_four_bits(const Block& block, std::byte* out) {
  for (size_t i = 0; i < kElements; ++i) add_bits(out[i / 64 * 32 + i % 32], block.levels[i] & 15U, static_cast<unsigned>(i % 64 / 32) * 4);
}

void write_q2_k(const float* x, std::byte* out) {
  const Block block = make_range(x, 16, 3, 15);
  for (size_t i = 0; i < 16; ++i) out[i] = static_cast<std::byte>(block.scales[i] | (block.mins[i] << 4));
  put_two_bits(block, out + 16);
  put_f16(block.d, out + 80);
  put_f16(block.min, out + 82);
}

void write_q3_k(const float* x, std::byte* out) {
  const Block block = make_around_zero(x, 4, 32);
  for (size_t i = 0; i < kElements; ++i) add_bits(out[i % 32], block.levels[i] >> 2, static_cast<unsigned>(i / 32));
  put_two_bits(block, out + 32);
  for (size_t i = 0; i < 16; ++i) {
    const auto scale = static_cast<unsigned>(block.scales[i] + 32);
    add_bits(out[96 + i % 8], scale & 15U, i < 8 ? 0 : 4);
    add_bits(out[104 + i % 4], scale >> 4, static_cast<unsigned>(i / 4) * 2);
  }
  put_f16(block.d, out + 108);
}

// d, dmin, and eight scales and minima of six bits in twelve bytes.
void put_scales_and_mins(const Block& block, std::byte* out) {
  put_f16(block.d, out);
  put_f16(block.min, out + 2);
  out += 4;
  for (size_t i = 0; i < 4; ++i) {
    const auto low_scale = static_cast<unsigned>(block.scales[i]), low_min = static_cast<unsigned>(block.mins[i]);
    const auto high_scale = static_cast<unsigned>(block.scales[i + 4]), high_min = static_cast<unsigned>(block.mins[i + 4]);
    out[i] = static_cast<std::byte>(low_scale | ((high_scale >> 4) << 6));
    out[i + 4] = static_cast<std::byte>(low_min | ((high_min >> 4) << 6));
    out[i + 8] = static_cast<std::byte>((high_scale & 15U) | ((high_min & 15U) << 4));
  }
}

void write_q4_k(const float* x, std::byte* out) {
  const Block block = make_range(x, 32, 15, 63);
  put_scales_and_mins(block, out);
  put_four_bits(block, out + 16);
}

void write_q5_k(const float* x, std::byte* out) {
  const Block block = make_range(x, 32, 31, 63);
  put_scales_and_mins(block, out);
  for (size_t i = 0; i < kElements; ++i) add_bits(out[16 + i % 32], block.levels[i] >> 4, static_cast<unsigned>(i / 32));
  put_four_bits(block, out + 48);
}

void write_q6_k(const float* x, std::byte* out) {
  const Block block = make_around_zero(x, 32, 128);
  for (size_t i = 0; i < kElements; ++i) {
    const size_t half = i / 128, quarter = i % 128 / 32, l = i % 32;
    add_bits(out[half * 64 + quarter % 2 * 32 + l], block.levels[i] & 15U, static_cast<unsigned>(quarter / 2) * 4);
    add_bits(out[128 + half * 32 + l], block.levels[i] >> 4, static_cast<unsigned>(quarter) * 2);
  }
  for (size_t i = 0; i < 16; ++i) out[192 + i] = static_cast<std::byte>(static_cast<int8_t>(block.scales[i]));
  put_f16(block.d, out + 208);
}

}  // namespace

void quantise_k_block(DType dtype, const float* values, std::byte* out) {
  std::fill_n(out, block_size(dtype).bytes, std::byte{0});
  switch (dtype) {
    case DType::q2_k: return write_q2_k(values, out);
    case DType::q3_k: return write_q3_k(values, out);
    case DType::q4_k: return write_q4_k(values, out);
    case DType::q5_k: return write_q5_k(values, out);
    default: return write_q6_k(values, out);
  }
}

}  // namespace veneer
