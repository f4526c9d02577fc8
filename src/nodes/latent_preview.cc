#include "nodes/latent_preview.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace veneer::nodes {
namespace {

// Rows: latent channels. Columns: red, green, blue in -1..1.
constexpr std::array<std::array<float, 3>, 4> kColours = {
    {{0.3512F, 0.2297F, 0.3227F}, {0.3250F, 0.4974F, 0.2350F}, {-0.2829F, 0.1762F, 0.2721F}, {-0.2120F, -0.2616F, -0.7177F}}};

}  // namespace

std::optional<graph::Preview> preview_latent(const Tensor& latent) {
  if (latent.rank() != 4 || latent.dtype() != DType::f32 || latent.dim(1) != 4 || latent.dim(0) < 1) return std::nullopt;
  const int64_t height = latent.dim(2);
  const int64_t width = latent.dim(3);
  const auto plane = static_cast<size_t>(height * width);
  const float* values = latent.data<float>();
  graph::Preview preview;
  preview.rgb = Tensor::empty({height, width, 3}, DType::u8);
  auto* out = preview.rgb.mutable_data<uint8_t>();
  for (size_t pixel = 0; pixel < plane; ++pixel) {
    for (size_t colour = 0; colour < 3; ++colour) {
      float sum = 0;
      for (size_t channel = 0; channel < 4; ++channel) sum += values[channel * plane + pixel] * kColours[channel][colour];
      const float level = std::isfinite(sum) ? std::clamp((sum + 1.0F) / 2.0F, 0.0F, 1.0F) : 0.0F;
      out[pixel * 3 + colour] = static_cast<uint8_t>(level * 255.0F);
    }
  }
  return preview;
}

}  // namespace veneer::nodes
