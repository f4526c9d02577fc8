#include "compute/enlarging_conv2d.h"

#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "compute/ops.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

// The 2x2 kernels of the results at one place (y, x) within doubled pixels.
class PlaceKernels final : public RowSource {
 public:
  PlaceKernels(WeightSource taps, int y, int x) : taps_(std::move(taps)), shape_({taps_.shape()[0], taps_.shape()[1], 2, 2}), y_(y), x_(x) {}

  const Shape& shape() const override { return shape_; }

  void rows(int64_t first, int64_t count, std::span<float> out) const override {
    std::vector<float> taps(out.size() / 4 * 9);
    if (taps_.made() != nullptr) {
      taps_.made()->rows(first, count, taps);
    } else {
      copy_range_to_f32(taps_.stored(), static_cast<size_t>(first * shape_[1] * 9), taps);
    }
    for (size_t kernel = 0; kernel < out.size() / 4; ++kernel) fold(&taps[kernel * 9], &out[kernel * 4]);
  }

 private:
  // Tap t of three around a result at place 0 falls on pixel -1, 0, 0, at place 1 on 0, 0, +1.
  static int pixel(int place, int tap) { return (place + tap + 1) / 2 - place; }

  void fold(const float* taps, float* kernel) const {
    std::fill_n(kernel, 4, 0.0F);
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column) kernel[2 * pixel(y_, row) + pixel(x_, column)] += taps[3 * row + column];
    }
  }

  WeightSource taps_;
  Shape shape_;
  int y_, x_;
};

class EnlargingConv2d final : public Conv2d {
 public:
  EnlargingConv2d(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry, DType dtype, WeightStorage storage)
      : weight_(weight), bias_(bias.defined() ? to_dtype(bias, DType::f32) : Tensor()), geometry_(geometry), dtype_(dtype), storage_(storage) {
    geometry_.enlarges = false;
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 2; ++x) {
        const ConvGeometry around{.stride = 1, .pad_top = 1 - y, .pad_left = 1 - x, .pad_bottom = y, .pad_right = x};
        auto kernels = std::make_shared<const PlaceKernels>(weight, y, x);
        places_[static_cast<size_t>(2 * y + x)] = Conv2d::create(WeightSource(std::move(kernels)), bias_, around, dtype, storage);
      }
    }
  }

  Tensor forward(Context& context, const ConvInput& input, const Epilogue& epilogue) const override {
    if (!input.is_doubled()) return as_it_is()->forward(context, input, epilogue);
    const Tensor& x = input.tensor();
    const Shape shape{x.dim(0), 2 * x.dim(1), 2 * x.dim(2), out_channels()};
    if (epilogue.residual != nullptr && epilogue.residual->shape() != shape) {
      throw Error(ErrorCode::invalid, "convolution: residual does not fit the result",
                  {{"want", shape.to_string()}, {"got", epilogue.residual->shape().to_string()}});
    }
    Tensor y = Tensor::empty(shape, dtype_, context.scratch);
    const Epilogue own{.activation = epilogue.activation};
    for (size_t row = 0; row < 2; ++row) {
      const Tensor left = places_[2 * row]->forward(context, x, own), right = places_[2 * row + 1]->forward(context, x, own);
      weave(context, left, right, static_cast<int64_t>(row), y);
    }
    return epilogue.residual != nullptr ? add(context, y, *epilogue.residual) : y;
  }

  int64_t in_channels() const override { return weight_.shape()[1]; }
  int64_t out_channels() const override { return weight_.shape()[0]; }
  size_t size_bytes() const override {
    size_t total = 0;
    for (const auto& place : places_) total += place->size_bytes();
    // They share the bias.
    if (bias_.defined()) total -= 3 * bias_.size_bytes();
    const std::lock_guard lock(mutex_);
    return total + (as_it_is_ ? as_it_is_->size_bytes() : 0);
  }

 private:
  // Sizes that are not double are rare: a network meets them on latents of odd sizes only.
  std::shared_ptr<const Conv2d> as_it_is() const {
    const std::lock_guard lock(mutex_);
    if (!as_it_is_) as_it_is_ = Conv2d::create(weight_, bias_, geometry_, dtype_, storage_);
    return as_it_is_;
  }

  WeightSource weight_;
  Tensor bias_;
  ConvGeometry geometry_;
  DType dtype_;
  WeightStorage storage_;
  std::array<std::shared_ptr<const Conv2d>, 4> places_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Conv2d> as_it_is_;
};

}  // namespace

std::shared_ptr<const Conv2d> make_enlarging_conv2d(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry, DType compute_dtype,
                                                    WeightStorage storage) {
  return std::make_shared<EnlargingConv2d>(weight, bias, geometry, compute_dtype, storage);
}

}  // namespace veneer::compute
