#include "nodes/options/free_u.h"

#include <algorithm>
#include <complex>
#include <numbers>
#include <vector>

#include "base/parallel.h"

namespace veneer::nodes {
namespace {

constexpr int64_t kChannelBlock = 64;
using Complex = std::complex<double>;

// exp(2 pi i t / size) for each t.
std::vector<Complex> unit_roots(int64_t size) {
  std::vector<Complex> roots;
  for (int64_t t = 0; t < size; ++t) roots.push_back(std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(t) / static_cast<double>(size)));
  return roots;
}

// The coefficients of one channel at the frequencies 0 and -1 of y (first index) and x.
struct Coefficients {
  Complex at[2][2] = {};
};

// Planes [H, W] of `count` neighbouring channels, out of rows that are `stride` channels wide.
class LowFrequencies {
 public:
  LowFrequencies(int64_t height, int64_t width) : y_roots_(unit_roots(height)), x_roots_(unit_roots(width)) {}

  void scale(const float* from, float* to, int64_t stride, int64_t count, float scale) const {
    const auto height = static_cast<int64_t>(y_roots_.size());
    const auto width = static_cast<int64_t>(x_roots_.size());
    const std::vector<Coefficients> sums = transform(from, stride, count);
    const double factor = (static_cast<double>(scale) - 1.0) / static_cast<double>(height * width);
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t c = 0; c < count; ++c) {
        const Coefficients& sum = sums[static_cast<size_t>(c)];
        // The inverse turns the other way: frequency -1 has the conjugate root.
        const Complex turn = std::conj(y_roots_[static_cast<size_t>(y)]);
        const double constant = factor * (sum.at[0][0] + (height > 1 ? sum.at[1][0] * turn : 0.0)).real();
        const Complex wave = width > 1 ? factor * (sum.at[0][1] + (height > 1 ? sum.at[1][1] * turn : 0.0)) : 0.0;
        for (int64_t x = 0; x < width; ++x) {
          const int64_t i = (y * width + x) * stride + c;
          const Complex root = x_roots_[static_cast<size_t>(x)];
          to[i] = static_cast<float>(static_cast<double>(from[i]) + constant + wave.real() * root.real() + wave.imag() * root.imag());
        }
      }
    }
  }

 private:
  std::vector<Coefficients> transform(const float* from, int64_t stride, int64_t count) const {
    std::vector<Coefficients> sums(static_cast<size_t>(count));
    for (int64_t c = 0; c < count; ++c) {
      Coefficients& sum = sums[static_cast<size_t>(c)];
      for (size_t y = 0; y < y_roots_.size(); ++y) {
        double constant = 0;
        double real = 0;
        double imaginary = 0;
        for (size_t x = 0; x < x_roots_.size(); ++x) {
          const auto value = static_cast<double>(from[static_cast<int64_t>(y * x_roots_.size() + x) * stride + c]);
          constant += value;
          real += value * x_roots_[x].real();
          imaginary += value * x_roots_[x].imag();
        }
        const Complex wave(real, imaginary);
        sum.at[0][0] += constant;
        sum.at[0][1] += wave;
        sum.at[1][0] += constant * y_roots_[y];
        sum.at[1][1] += wave * y_roots_[y];
      }
    }
    return sums;
  }

  std::vector<Complex> y_roots_, x_roots_;
};

// The factor of each position of one picture [positions, channels], by how high its mean is between the lowest and the highest.
std::vector<float> factors_by_mean(const float* h, int64_t positions, int64_t channels, float b) {
  std::vector<float> means;
  for (int64_t p = 0; p < positions; ++p) {
    double sum = 0;
    for (int64_t c = 0; c < channels; ++c) sum += static_cast<double>(h[p * channels + c]);
    means.push_back(static_cast<float>(sum / static_cast<double>(channels)));
  }
  const auto [low, high] = std::ranges::minmax(means);
  for (float& mean : means) mean = high > low ? (b - 1.0F) * ((mean - low) / (high - low)) + 1.0F : 1.0F;
  return means;
}

}  // namespace

Tensor scale_features(const Tensor& h, float b, FreeUVersion version) {
  Tensor out = h.clone();
  const int64_t channels = h.dim(3);
  const int64_t positions = h.dim(1) * h.dim(2);
  for (int64_t n = 0; n < h.dim(0); ++n) {
    float* picture = out.mutable_data<float>() + n * positions * channels;
    const std::vector<float> factors =
        version == FreeUVersion::v2 ? factors_by_mean(picture, positions, channels, b) : std::vector<float>(static_cast<size_t>(positions), b);
    for (int64_t p = 0; p < positions; ++p) {
      for (int64_t c = 0; c < channels / 2; ++c) picture[p * channels + c] *= factors[static_cast<size_t>(p)];
    }
  }
  return out;
}

Tensor scale_low_frequencies(const Tensor& skip, float scale) {
  const int64_t channels = skip.dim(3);
  const int64_t blocks = (channels + kChannelBlock - 1) / kChannelBlock;
  const int64_t picture = skip.dim(1) * skip.dim(2) * channels;
  const LowFrequencies frequencies(skip.dim(1), skip.dim(2));
  Tensor out = Tensor::empty(skip.shape(), DType::f32);
  float* to = out.mutable_data<float>();
  parallel_for(static_cast<size_t>(skip.dim(0) * blocks), 1, [&](size_t begin, size_t end) {
    for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i) {
      const int64_t first = i % blocks * kChannelBlock;
      const int64_t at = i / blocks * picture + first;
      frequencies.scale(skip.data<float>() + at, to + at, channels, std::min(kChannelBlock, channels - first), scale);
    }
  });
  return out;
}

variant::Identified<variant::BlockAndSkip(const variant::BlockAndSkip&, const variant::PatchCall&)> free_u(FreeUVersion version,
                                                                                                           const FreeUScales& scales,
                                                                                                           int64_t model_channels) {
  const Fingerprint id =
      FingerprintBuilder().add("FreeU").add(version).add(scales.b1).add(scales.b2).add(scales.s1).add(scales.s2).add(model_channels).finish();
  return {id, [=](const variant::BlockAndSkip& both, const variant::PatchCall&) -> variant::BlockAndSkip {
            const int64_t channels = both.h.dim(3);
            if (channels != 4 * model_channels && channels != 2 * model_channels) return both;
            const bool first = channels == 4 * model_channels;
            return {scale_features(both.h, static_cast<float>(first ? scales.b1 : scales.b2), version),
                    scale_low_frequencies(both.skip, static_cast<float>(first ? scales.s1 : scales.s2))};
          }};
}

}  // namespace veneer::nodes
