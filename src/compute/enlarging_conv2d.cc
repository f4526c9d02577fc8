#include "compute/enlarging_conv2d.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "compute/ops.h"
#include "compute/packed_size.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

// [out, in, 2, 2] each: the kernels of the results at places (0, 0), (0, 1), (1, 0) and (1, 1) within doubled pixels.
using Kernels = std::array<Tensor, 4>;

// Tap t of three around a result at place 0 falls on pixel -1, 0, 0, at place 1 on 0, 0, +1: which of the two that its kernel sees.
int pixel(int place, int tap) { return (place + tap + 1) / 2 - place; }

void fold(const float* taps, int y, int x, float* kernel) {
  std::fill_n(kernel, 4, 0.0F);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) kernel[2 * pixel(y, row) + pixel(x, column)] += taps[3 * row + column];
  }
}

Kernels fold_all(const Tensor& weight) {
  const int64_t out = weight.dim(0), in = weight.dim(1);
  Kernels kernels;
  for (Tensor& kernel : kernels) kernel = Tensor::empty({out, in, 2, 2}, DType::f32);
  parallel_for(static_cast<size_t>(out), 16, [&](size_t begin, size_t end) {
    std::vector<float> taps(static_cast<size_t>(in * 9));
    for (size_t row = begin; row < end; ++row) {
      copy_range_to_f32(weight, row * taps.size(), taps);
      for (size_t place = 0; place < kernels.size(); ++place) {
        float* to = kernels[place].mutable_data<float>() + row * static_cast<size_t>(in) * 4;
        for (int64_t i = 0; i < in; ++i)
          fold(&taps[static_cast<size_t>(i * 9)], static_cast<int>(place / 2), static_cast<int>(place % 2), to + i * 4);
      }
    }
  });
  return kernels;
}

class EnlargingConv2d final : public Conv2d {
 public:
  EnlargingConv2d(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry, DType dtype, WeightStorage storage)
      : weight_(weight), bias_(bias.defined() ? to_dtype(bias, DType::f32) : Tensor()), geometry_(geometry), dtype_(dtype), storage_(storage) {
    geometry_.enlarges = false;
  }

  Tensor forward(Context& context, const ConvInput& input, const Epilogue& epilogue) const override {
    if (!input.is_doubled()) return as_it_is()->forward(context, input, epilogue);
    const Tensor& x = input.tensor();
    const Shape shape{x.dim(0), 2 * x.dim(1), 2 * x.dim(2), out_channels()};
    if (epilogue.residual != nullptr && epilogue.residual->shape() != shape) {
      throw Error(ErrorCode::invalid, "convolution: residual does not fit the result",
                  {{"want", shape.to_string()}, {"got", epilogue.residual->shape().to_string()}});
    }
    const Places places = all_places();
    Tensor y = Tensor::empty(shape, dtype_, context.scratch);
    const Epilogue own{.activation = epilogue.activation};
    for (size_t row = 0; row < 2; ++row) {
      const Tensor left = places[2 * row]->forward(context, x, own), right = places[2 * row + 1]->forward(context, x, own);
      weave(context, left, right, static_cast<int64_t>(row), y);
    }
    return epilogue.residual != nullptr ? add(context, y, *epilogue.residual) : y;
  }

  int64_t in_channels() const override { return weight_.shape()[1]; }
  int64_t out_channels() const override { return weight_.shape()[0]; }
  size_t size_bytes() const override {
    const size_t bias = bias_.defined() ? bias_.size_bytes() : 0;
    // A view into the model's file costs nothing.
    const bool own = weight_.made() == nullptr && weight_.stored().writable();
    size_t total = bias + (own ? weight_.stored().size_bytes() : 0);
    const std::lock_guard lock(mutex_);
    if (!places_[0] && !as_it_is_) return total + enlarging_size_estimate(weight_.shape(), dtype_);
    for (const auto& layer : {places_[0], places_[1], places_[2], places_[3], as_it_is_}) {
      if (layer) total += layer->size_bytes() - bias;  // they share it
    }
    return total;
  }

 private:
  using Places = std::array<std::shared_ptr<const Conv2d>, 4>;

  Places all_places() const {
    const std::lock_guard lock(mutex_);
    if (places_[0]) return places_;
    const Kernels kernels = fold_all(weight_.whole());
    Places places;
    for (int place = 0; place < 4; ++place) {
      const int y = place / 2, x = place % 2;
      const ConvGeometry around{.stride = 1, .pad_top = 1 - y, .pad_left = 1 - x, .pad_bottom = y, .pad_right = x};
      places[static_cast<size_t>(place)] = Conv2d::create(kernels[static_cast<size_t>(place)], bias_, around, dtype_);
    }
    places_ = places;
    return places;
  }

  // For sizes that are not double: a network meets them on latents of odd sizes only, and then all the time.
  std::shared_ptr<const Conv2d> as_it_is() const {
    const std::lock_guard lock(mutex_);
    if (!as_it_is_) as_it_is_ = Conv2d::create(weight_.whole(), bias_, geometry_, dtype_, storage_);
    return as_it_is_;
  }

  WeightSource weight_;  // stays, since other sizes may come: rows that are made are made once for each kind of layer, as a whole
  Tensor bias_;
  ConvGeometry geometry_;
  DType dtype_;
  WeightStorage storage_;
  mutable std::mutex mutex_;
  mutable Places places_;
  mutable std::shared_ptr<const Conv2d> as_it_is_;
};

}  // namespace

std::shared_ptr<const Conv2d> make_enlarging_conv2d(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry, DType compute_dtype,
                                                    WeightStorage storage) {
  return std::make_shared<EnlargingConv2d>(weight, bias, geometry, compute_dtype, storage);
}

}  // namespace veneer::compute
