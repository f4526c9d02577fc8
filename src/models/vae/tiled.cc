#include "models/vae/tiled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "compute/ops.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

// One axis of a pass: sizes before the network, and `scale` from there to behind it.
struct Axis {
  int64_t size = 0, tile = 0, overlap = 0;
  double scale = 1;

  // Half to even.
  int64_t scaled(int64_t value) const { return static_cast<int64_t>(std::nearbyint(static_cast<double>(value) * scale)); }
};

struct Span {
  int64_t begin = 0, length = 0;
};

std::vector<Span> spans_of(const Axis& axis) {
  if (axis.size <= axis.tile) return {{0, axis.size}};
  if (axis.tile <= axis.overlap) {
    throw Error(ErrorCode::invalid, "vae: tiles have to be larger than their overlap",
                {{"tile", std::to_string(axis.tile)}, {"overlap", std::to_string(axis.overlap)}});
  }
  std::vector<Span> spans;
  for (int64_t start = 0; start < axis.size - axis.overlap; start += axis.tile - axis.overlap) {
    spans.push_back({start, std::min(axis.tile, axis.size - start)});
  }
  return spans;
}

// Weights along one axis of a tile that is `length` long behind the network. A tile that is no longer than its ramp has weight 1.
std::vector<float> ramp(const Axis& axis, int64_t length) {
  std::vector<float> weights(static_cast<size_t>(length), 1.0F);
  const int64_t feather = axis.scaled(axis.overlap);
  if (feather >= length) return weights;
  for (int64_t t = 0; t < feather; ++t) {
    const auto weight = static_cast<float>(static_cast<double>(t + 1) / static_cast<double>(feather));
    weights[static_cast<size_t>(t)] *= weight;
    weights[static_cast<size_t>(length - 1 - t)] *= weight;
  }
  return weights;
}

// Runs the network on one tile, given in coordinates before it: [1, h, w, >= channels] f32.
using RunTile = std::function<Tensor(Span y, Span x)>;

// One weighted tile onto sum [H, W, channels] and weight [H, W].
void accumulate(const Tensor& tile, const Axis& y_axis, const Axis& x_axis, int64_t top, int64_t left, Tensor& sum, Tensor& weight) {
  const std::vector<float> wy = ramp(y_axis, tile.dim(1));
  const std::vector<float> wx = ramp(x_axis, tile.dim(2));
  const int64_t width = sum.dim(1);
  const int64_t channels = sum.dim(2);
  if (top + tile.dim(1) > sum.dim(0) || left + tile.dim(2) > width || tile.dim(3) < channels) {
    throw Error(ErrorCode::internal, "vae: a tile leaves the picture", {{"tile", tile.shape().to_string()}, {"picture", sum.shape().to_string()}});
  }
  for (int64_t y = 0; y < tile.dim(1); ++y) {
    const float* from = tile.data<float>() + y * tile.dim(2) * tile.dim(3);
    float* to = sum.mutable_data<float>() + ((top + y) * width + left) * channels;
    float* total = weight.mutable_data<float>() + (top + y) * width + left;
    for (int64_t x = 0; x < tile.dim(2); ++x) {
      const float w = wy[static_cast<size_t>(y)] * wx[static_cast<size_t>(x)];
      for (int64_t c = 0; c < channels; ++c) to[x * channels + c] += from[x * tile.dim(3) + c] * w;
      total[x] += w;
    }
  }
}

// One pass over the picture: [H, W, channels] f32.
Tensor run_pass(const Axis& y_axis, const Axis& x_axis, int64_t channels, const RunTile& run) {
  Tensor sum = Tensor::zeros(Shape({y_axis.scaled(y_axis.size), x_axis.scaled(x_axis.size), channels}), DType::f32);
  Tensor weight = Tensor::zeros(Shape({sum.dim(0), sum.dim(1)}), DType::f32);
  const bool whole = y_axis.size <= y_axis.tile && x_axis.size <= x_axis.tile;
  const Axis no_ramp{0, 0, 0, 1};
  const std::vector<Span> columns = spans_of(x_axis);
  for (const Span y : spans_of(y_axis)) {
    for (const Span x : columns) {
      const Tensor tile = run(y, x);
      accumulate(tile, whole ? no_ramp : y_axis, whole ? no_ramp : x_axis, y_axis.scaled(y.begin), x_axis.scaled(x.begin), sum, weight);
    }
  }
  // 0 / 0 where no tile was: NaN, as documented.
  float* values = sum.mutable_data<float>();
  const float* weights = weight.data<float>();
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    for (int64_t c = 0; c < channels; ++c) values[i * channels + c] /= weights[i];
  }
  return sum;
}

struct Picture {
  int64_t height = 0, width = 0, overlap = 0;
  double scale = 1;
  int64_t channels = 0;  // behind the network
};

// The mean of passes with the given (x, y) tiles: [1, H, W, channels] f32.
Tensor mean_of_passes(const Picture& picture, const std::array<std::pair<int64_t, int64_t>, 3>& tiles, const RunTile& run) {
  Tensor total;
  for (const auto& [tile_x, tile_y] : tiles) {
    const Axis y{picture.height, tile_y, picture.overlap, picture.scale};
    const Axis x{picture.width, tile_x, picture.overlap, picture.scale};
    const Tensor pass = run_pass(y, x, picture.channels, run);
    if (!total.defined()) {
      total = pass;
      continue;
    }
    for (size_t i = 0; i < pass.floats().size(); ++i) total.mutable_data<float>()[i] += pass.data<float>()[i];
  }
  for (float& value : total.mutable_floats()) value /= 3.0F;
  return total.reshape(Shape({1, total.dim(0), total.dim(1), total.dim(2)}));
}

void check_tile(const TileSize& tile) {
  constexpr int64_t kMost = int64_t{1} << 24;
  if (tile.x < 1 || tile.y < 1 || tile.overlap < 0 || tile.x > kMost || tile.y > kMost || tile.overlap > kMost) {
    throw Error(ErrorCode::invalid, "vae: tile sizes",
                {{"tile_x", std::to_string(tile.x)}, {"tile_y", std::to_string(tile.y)}, {"overlap", std::to_string(tile.overlap)}});
  }
}

// Rows `y` and columns `x` of each of `planes` images of `height` x `width` elements of `element` floats: -> [planes, y.length, x.length, element].
Tensor cut(const Tensor& from, int64_t planes, int64_t height, int64_t width, int64_t element, Span y, Span x) {
  Tensor out = Tensor::empty(Shape({planes, y.length, x.length, element}), DType::f32);
  for (int64_t p = 0; p < planes; ++p) {
    for (int64_t row = 0; row < y.length; ++row) {
      const float* source = from.data<float>() + ((p * height + y.begin + row) * width + x.begin) * element;
      std::copy(source, source + x.length * element, out.mutable_data<float>() + (p * y.length + row) * x.length * element);
    }
  }
  return out;
}

void put(const Tensor& one, int64_t index, int64_t count, Tensor& batch) {
  if (!batch.defined()) batch = Tensor::empty(one.shape().with(0, count), DType::f32);
  std::memcpy(batch.mutable_bytes() + static_cast<size_t>(index) * one.size_bytes(), one.bytes(), one.size_bytes());
}

}  // namespace

Tensor decode_tiled(const Vae& vae, variant::ModelView& view, compute::Context& context, const Tensor& latent, const TileSize& tile,
                    const VaeCallExtras& extras) {
  vae.check_latent(latent);
  check_tile(tile);
  const Picture picture{latent.dim(2), latent.dim(3), tile.overlap, static_cast<double>(vae.config().downscale()), vae.config().image_channels};
  Tensor out;
  for (int64_t b = 0; b < latent.dim(0); ++b) {
    const Tensor one = latent.slice(b, 1);
    const RunTile run = [&](Span y, Span x) {
      const Tensor part = cut(one, latent.dim(1), latent.dim(2), latent.dim(3), 1, y, x);
      return vae.decode_element(view, context, part.reshape(Shape({1, latent.dim(1), y.length, x.length})), extras);
    };
    put(mean_of_passes(picture, {{{tile.x / 2, tile.y * 2}, {tile.x * 2, tile.y / 2}, {tile.x, tile.y}}}, run), b, latent.dim(0), out);
  }
  return image_from_raw(std::move(out));
}

Tensor encode_tiled(const Vae& vae, variant::ModelView& view, compute::Context& context, const Tensor& image, const TileSize& tile,
                    const VaeCallExtras& extras) {
  vae.check_image(image);
  check_tile(tile);
  const Tensor pixels = crop_to_multiple(image, vae.config().downscale());
  const Picture picture{pixels.dim(1), pixels.dim(2), tile.overlap, 1.0 / vae.config().downscale(), vae.config().latent_channels};
  compute::Context f32 = context;
  f32.dtype = DType::f32;
  Tensor out;
  for (int64_t b = 0; b < pixels.dim(0); ++b) {
    const Tensor one = pixels.slice(b, 1);
    const RunTile run = [&](Span y, Span x) {
      return vae.encode_element(view, context, cut(one, 1, pixels.dim(1), pixels.dim(2), pixels.dim(3), y, x), extras);
    };
    const Tensor mean = mean_of_passes(picture, {{{tile.x, tile.y}, {tile.x * 2, tile.y / 2}, {tile.x / 2, tile.y * 2}}}, run);
    put(compute::to_nchw_f32(f32, mean), b, pixels.dim(0), out);
  }
  return out;
}

}  // namespace veneer::models
