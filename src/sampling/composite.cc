#include "sampling/composite.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sampling/mask_ops.h"
#include "sampling/nchw.h"
#include "sampling/resample.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

struct Pasted {
  Tensor destination;  // own bytes
  Tensor source;       // as many rows as the destination
};

Pasted prepare(const Tensor& destination, const Tensor& source) {
  Pasted out{require_f32(destination, 4, "composite").clone(), require_f32(source, 4, "composite")};
  out.source = repeat_to_batch(out.source, out.destination.dim(0));
  if (out.source.dim(1) != out.destination.dim(1)) {
    throw Error(ErrorCode::invalid, "composite: channels differ",
                {{"destination", destination.shape().to_string()}, {"source", source.shape().to_string()}});
  }
  return out;
}

// Mixes the source into the destination at (x, y), which may be negative, with weight(row n, source y, source x).
template <typename Weight>
void paste(Pasted& pasted, int64_t x0, int64_t y0, Weight weight) {
  const Shape& to = pasted.destination.shape();
  const Shape& from = pasted.source.shape();
  float* out = pasted.destination.mutable_data<float>();
  const float* in = pasted.source.data<float>();
  for (int64_t p = 0; p < to[0] * to[1]; ++p) {
    for (int64_t y = std::max<int64_t>(0, -y0); y < std::min(from[2], to[2] - y0); ++y) {
      for (int64_t x = std::max<int64_t>(0, -x0); x < std::min(from[3], to[3] - x0); ++x) {
        float& target = out[(p * to[2] + y0 + y) * to[3] + x0 + x];
        const float w = weight(p / to[1], y, x);
        const float value = in[(p * from[2] + y) * from[3] + x];
        target = w == 1.0F ? value : value * w + target * (1.0F - w);
      }
    }
  }
}

// Weights along one axis of a source that covers [start, start + size) of `whole`. A feather that is longer than the source is wide turns around at
// its first element and runs on from there, as workflows made with the reference expect.
std::vector<float> feather_weights(int64_t start, int64_t size, int64_t whole, int64_t feather) {
  std::vector<float> weights(static_cast<size_t>(size), 1.0F);
  for (int64_t t = 0; t < std::min(feather, 2 * size); ++t) {
    const float step = static_cast<float>(1.0 / static_cast<double>(feather) * static_cast<double>(t + 1));
    if (start != 0 && t < size) weights[static_cast<size_t>(t)] *= step;
    if (start + size < whole && t != size) weights[static_cast<size_t>(t < size ? size - 1 - t : 2 * size - 1 - t)] *= step;
  }
  return weights;
}

}  // namespace

Tensor composite(const Tensor& destination, const Tensor& source, int64_t x, int64_t y, int64_t feather) {
  if (x < 0 || y < 0 || feather < 0) {
    throw Error(ErrorCode::invalid, "composite: position and feather are not negative",
                {{"x", std::to_string(x)}, {"y", std::to_string(y)}, {"feather", std::to_string(feather)}});
  }
  Pasted pasted = prepare(destination, source);
  const Shape& to = pasted.destination.shape();
  const int64_t height = std::min(pasted.source.dim(2), to[2] - std::min(y, to[2]));
  const int64_t width = std::min(pasted.source.dim(3), to[3] - std::min(x, to[3]));
  if (height == 0 || width == 0) return pasted.destination;
  const std::vector<float> down = feather_weights(y, height, to[2], feather);
  const std::vector<float> across = feather_weights(x, width, to[3], feather);
  paste(pasted, x, y, [&](int64_t, int64_t sy, int64_t sx) { return down[static_cast<size_t>(sy)] * across[static_cast<size_t>(sx)]; });
  return pasted.destination;
}

Tensor composite_masked(const Tensor& destination, const Tensor& source, const Tensor& mask, const MaskedComposite& options) {
  Tensor fitted = require_f32(source, 4, "composite");
  const Tensor& to = destination;
  if (options.resize_source && to.defined() && to.rank() == 4) fitted = resample(fitted, to.dim(3), to.dim(2), ResampleMethod::bilinear);
  Pasted pasted = prepare(destination, fitted);
  const int64_t height = pasted.source.dim(2);
  const int64_t width = pasted.source.dim(3);
  const int64_t x = std::clamp(options.x, -width, pasted.destination.dim(3));
  const int64_t y = std::clamp(options.y, -height, pasted.destination.dim(2));
  if (!mask.defined()) {
    paste(pasted, x, y, [](int64_t, int64_t, int64_t) { return 1.0F; });
    return pasted.destination;
  }
  const Tensor weights = repeat_to_batch(resize_mask(mask, height, width), pasted.source.dim(0));
  paste(pasted, x, y, [&](int64_t n, int64_t sy, int64_t sx) { return weights.data<float>()[(n * height + sy) * width + sx]; });
  return pasted.destination;
}

}  // namespace veneer::sampling
