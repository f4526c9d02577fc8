#include <string>

#include "compute/enlarging_conv2d.h"
#include "compute/im2col.h"
#include "compute/onednn.h"
#include "compute/op_span.h"
#include "compute/ops.h"
#include "compute/packed_layer.h"
#include "compute/weights.h"
#include "compute/winograd_conv2d.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

using onednn::Desc;
using onednn::Tag;

// Extent of the result, or 0 when the padded input is smaller than the kernel.
int64_t result_extent(int64_t in, int64_t kernel, int pad_begin, int pad_end, int stride) {
  const int64_t room = in + pad_begin + pad_end - kernel;
  return room < 0 ? 0 : room / stride + 1;
}

class OneDnnConv2d final : public Conv2d {
 public:
  OneDnnConv2d(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry, DType dtype, WeightStorage storage)
      : in_(weight.shape()[1]),
        out_(weight.shape()[0]),
        kernel_height_(weight.shape()[2]),
        kernel_width_(weight.shape()[3]),
        geometry_(geometry),
        dtype_(dtype),
        bias_(bias.defined() ? to_dtype(bias, DType::f32) : Tensor()),
        layer_(weight, WeightAxes{.out = 0, .in = 1}, Desc({out_, in_, kernel_height_, kernel_width_}, onednn::data_type(dtype), Tag::oihw),
               Desc({out_, in_, kernel_height_, kernel_width_}, onednn::data_type(dtype), Tag::any), dtype,
               kept_dtype(weight.plain_dtype(), dtype, storage)) {}

  Tensor forward(Context& context, const ConvInput& input, const Epilogue& epilogue) const override {
    const Tensor x = input.whole(context);
    const Shape shape = result_shape(context, x);
    if (epilogue.residual != nullptr && (epilogue.residual->shape() != shape || epilogue.residual->dtype() != dtype_)) {
      throw Error(ErrorCode::invalid, "convolution: residual does not fit the result",
                  {{"want", shape.to_string()}, {"got", epilogue.residual->shape().to_string()}});
    }
    const ProfileSpan span = op_span(context, "conv2d", [&] { return work(x, shape); });
    if (shape.num_elements() == 0) return Tensor::empty(shape, dtype_, context.scratch);

    const OperationKey key = operation_key(x, epilogue);
    const auto ready = prepare(context, x, key, shape);
    Tensor y = Tensor::empty(shape, dtype_, context.scratch);  // after the weights, which take the place of others
    if (fewer_products(shape)) {
      winograd::convolve(context, winograd_layer(), x, ready.weights, bias_, epilogue, y);
      return y;
    }
    const Tensor columns =
        onednn::is_matrix(ready.operation->src) ? im2col(context, x, kernel_height_, kernel_width_, geometry_, shape[1], shape[2]) : x;
    onednn::Arguments arguments{columns.bytes(), ready.weights.bytes(), bias_.defined() ? bias_.data<float>() : nullptr, nullptr, y.mutable_bytes()};
    if (ready.operation->residual_fused) arguments.residual = epilogue.residual->bytes();
    onednn::execute(*ready.operation, arguments, context.scratch);
    if (epilogue.residual != nullptr && !ready.operation->residual_fused) return add(context, y, *epilogue.residual);
    return y;
  }

  int64_t in_channels() const override { return in_; }
  int64_t out_channels() const override { return out_; }
  size_t size_bytes() const override { return layer_.size_bytes() + (bias_.defined() ? bias_.size_bytes() : 0); }

 private:
  ProfileWork work(const Tensor& x, const Shape& result) const {
    const double taps = static_cast<double>(kernel_height_ * kernel_width_ * in_), elements = static_cast<double>(result.num_elements());
    std::string text =
        x.shape().to_string() + " -> " + std::to_string(out_) + ", " + std::to_string(kernel_height_) + "x" + std::to_string(kernel_width_);
    if (geometry_.stride != 1) text += ", stride " + std::to_string(geometry_.stride);
    return {std::move(text), to_string(dtype_), 2 * elements * taps,
            static_cast<double>(x.size_bytes()) + static_cast<double>(size_of(dtype_)) * (elements + taps * static_cast<double>(out_))};
  }
  PackedLayer::Ready prepare(Context& context, const Tensor& x, const OperationKey& key, const Shape& result) const {
    const ProfileSpan span = prepare_span(context, [&] { return ProfileWork{work(x, result).shape, to_string(dtype_), 0, 0}; });
    const auto make = [&](const Desc& weights) { return compile(key, result, weights); };
    return fewer_products(result) ? layer_.ready_as_kept(context, key, make) : layer_.ready(context, key, make);
  }
  Shape result_shape(const Context& context, const Tensor& x) const {
    if (context.dtype != dtype_ || x.dtype() != dtype_) {
      throw Error(ErrorCode::invalid, "convolution: dtypes differ",
                  {{"weights", std::string(to_string(dtype_))},
                   {"context", std::string(to_string(context.dtype))},
                   {"input", std::string(to_string(x.dtype()))}});
    }
    if (x.rank() != 4 || x.dim(3) != in_) {
      throw Error(ErrorCode::invalid, "convolution: input does not fit the weight",
                  {{"want", "[N, H, W, " + std::to_string(in_) + "]"}, {"got", x.shape().to_string()}});
    }
    const int64_t height = result_extent(x.dim(1), kernel_height_, geometry_.pad_top, geometry_.pad_bottom, geometry_.stride);
    const int64_t width = result_extent(x.dim(2), kernel_width_, geometry_.pad_left, geometry_.pad_right, geometry_.stride);
    if (height == 0 || width == 0) {
      throw Error(ErrorCode::invalid, "convolution: input is smaller than the kernel", {{"input", x.shape().to_string()}});
    }
    return {x.dim(0), height, width, out_};
  }

  OperationKey operation_key(const Tensor& x, const Epilogue& epilogue) const {
    OperationKey key{.convolution = true, .bias = bias_.defined(), .dtype = dtype_, .in = in_, .out = out_};
    key.kernel_height = kernel_height_;
    key.kernel_width = kernel_width_;
    key.geometry = geometry_;
    key.batch = x.dim(0);
    key.height = x.dim(1);
    key.width = x.dim(2);
    key.epilogue = {epilogue.activation, epilogue.residual != nullptr};
    key.threads = onednn::thread_count();
    return key;
  }

  winograd::Layer winograd_layer() const { return {in_, out_, kernel_height_, kernel_width_, geometry_}; }
  // bf16 is multiplied by instructions of its own.
  bool fewer_products(const Shape& result) const { return dtype_ == DType::f32 && winograd::wins(winograd_layer(), result[1], result[2]); }
  // On a few pixels oneDNN's f32 convolutions read the weights once per row of the image, and there are many weights: a matmul over gathered
  // pixels ran at 136 instead of 80-110 GFLOP/s a core for 1280 and 2560 channels at 8x8. From 16x16 on the convolution is as fast.
  bool better_as_matmul(const Shape& result) const {
    constexpr int64_t kFewPixels = 64, kManyWeights = 256 * 256;
    return dtype_ == DType::f32 && result[1] * result[2] <= kFewPixels && in_ * out_ >= kManyWeights && out_ % 64 == 0 &&
           kernel_height_ * kernel_width_ * in_ % 16 == 0;
  }
  Desc any() const { return Desc({out_, in_, kernel_height_, kernel_width_}, onednn::data_type(dtype_), Tag::any); }
  // Blocks of 64 results, in each the taps, in each the channels: the same bytes in a convolution's terms as BA16a64b in a matmul's.
  Desc matmul_layout() const { return Desc({out_, in_, kernel_height_, kernel_width_}, onednn::data_type(dtype_), Tag::Acdb64a); }

  onednn::Operation compile_matmul(const OperationKey& key, const Shape& result) const {
    const auto type = onednn::data_type(dtype_);
    const int64_t rows = result.num_elements() / out_, taps = kernel_height_ * kernel_width_ * in_;
    const Desc bias = bias_.defined() ? Desc({1, out_}, dnnl::memory::data_type::f32, Tag::ab) : Desc();
    onednn::Operation operation = onednn::compile(
        onednn::MatmulDescs{Desc({rows, taps}, type, Tag::ab), Desc({taps, out_}, type, Tag::BA16a64b), bias, Desc({rows, out_}, type, Tag::ab)},
        key.epilogue, key.threads);
    operation.layout = matmul_layout();
    return operation;
  }

  onednn::Operation compile(const OperationKey& key, const Shape& result, const Desc& weights) const {
    if (fewer_products(result)) {
      if (weights != any() && weights != matmul_layout()) throw Error(ErrorCode::unsupported, "convolution: weights lie in another layout");
      // No primitive: only how the weights are to lie.
      onednn::Operation operation;
      operation.layout = matmul_layout();
      operation.implementation = "winograd";
      return operation;
    }
    if (better_as_matmul(result) && (weights == any() || weights == matmul_layout())) {
      onednn::Operation operation = compile_matmul(key, result);
      if (operation.implementation.starts_with("brg")) return operation;
    }
    const auto type = onednn::data_type(dtype_);
    const Desc bias = bias_.defined() ? Desc({out_}, dnnl::memory::data_type::f32, Tag::a) : Desc();
    const Desc src({key.batch, in_, key.height, key.width}, type, Tag::nhwc);
    const Desc dst({result[0], out_, result[1], result[2]}, type, Tag::nhwc);
    return onednn::compile(onednn::ConvDescs{src, weights, bias, dst, geometry_}, key.epilogue, key.threads);
  }

  int64_t in_, out_, kernel_height_, kernel_width_;
  ConvGeometry geometry_;
  DType dtype_;
  Tensor bias_;
  mutable PackedLayer layer_;
};

// In NHWC a 1x1 convolution with stride 1 is a matmul over the channels of every pixel.
class PointwiseConv2d final : public Conv2d {
 public:
  PointwiseConv2d(const WeightSource& weight, const Tensor& bias, DType dtype, WeightStorage storage)
      : linear_(Linear::create(weight.reshape({weight.shape()[0], weight.shape()[1]}), bias, dtype, storage)) {}
  Tensor forward(Context& context, const ConvInput& input, const Epilogue& epilogue) const override {
    const Tensor x = input.whole(context);
    if (x.rank() != 4) throw Error(ErrorCode::invalid, "convolution: input is not [N, H, W, C]", {{"got", x.shape().to_string()}});
    return linear_->forward(context, x, epilogue);
  }
  int64_t in_channels() const override { return linear_->in_features(); }
  int64_t out_channels() const override { return linear_->out_features(); }
  size_t size_bytes() const override { return linear_->size_bytes(); }

 private:
  std::shared_ptr<const Linear> linear_;
};

void check_weights(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry) {
  if (!weight.defined() || weight.shape().rank() != 4 || weight.shape().num_elements() == 0 || !is_floating(weight.dtype())) {
    throw Error(ErrorCode::invalid, "convolution: weight is not [out, in, kh, kw] of floating numbers", {{"shape", weight.shape().to_string()}});
  }
  if (bias.defined() && (bias.rank() != 1 || bias.dim(0) != weight.shape()[0] || !is_floating(bias.dtype()))) {
    throw Error(ErrorCode::invalid, "convolution: bias does not fit the weight",
                {{"weight", weight.shape().to_string()}, {"bias", bias.shape().to_string()}});
  }
  if (geometry.enlarges && (geometry != ConvGeometry::enlarging3x3() || weight.shape()[2] != 3 || weight.shape()[3] != 3)) {
    throw Error(ErrorCode::invalid, "convolution: only kernels of 3x3 with a border of one pixel read doubled pictures",
                {{"shape", weight.shape().to_string()}});
  }
  if (geometry.stride < 1 || geometry.pad_top < 0 || geometry.pad_left < 0 || geometry.pad_bottom < 0 || geometry.pad_right < 0) {
    throw Error(ErrorCode::invalid, "convolution: stride or padding is out of range", {{"stride", std::to_string(geometry.stride)}});
  }
}

}  // namespace

std::shared_ptr<const Conv2d> Conv2d::create(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry, DType compute_dtype,
                                             WeightStorage storage) {
  check_weights(weight, bias, geometry);
  if (geometry.enlarges) return make_enlarging_conv2d(weight, bias, geometry, compute_dtype, storage);
  const bool pointwise = weight.shape()[2] == 1 && weight.shape()[3] == 1 && geometry == ConvGeometry{};
  if (pointwise) return std::make_shared<PointwiseConv2d>(weight, bias, compute_dtype, storage);
  return std::make_shared<OneDnnConv2d>(weight, bias, geometry, compute_dtype, storage);
}

}  // namespace veneer::compute
