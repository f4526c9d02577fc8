#include <optional>
#include <string>

#include "compute/onednn.h"
#include "compute/op_span.h"
#include "compute/ops.h"
#include "compute/packed_layer.h"
#include "compute/weights.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

using onednn::Desc;
using onednn::Tag;

class OneDnnLinear final : public Linear {
 public:
  OneDnnLinear(const WeightSource& weight, const Tensor& bias, DType dtype, WeightStorage storage)
      : in_(weight.shape()[1]),
        out_(weight.shape()[0]),
        dtype_(dtype),
        bias_(bias.defined() ? to_dtype(bias, DType::f32) : Tensor()),
        layer_(weight, WeightAxes{.out = 1, .in = 0}, Desc({in_, out_}, onednn::data_type(dtype), Tag::ba),
               Desc({in_, out_}, onednn::data_type(dtype), Tag::any), dtype, kept_dtype(weight.plain_dtype(), dtype, storage)) {}

  Tensor forward(Context& context, const Tensor& x, const Epilogue& epilogue) const override {
    check(context, x);
    std::array<int64_t, Shape::kMaxRank> dims{};
    for (int i = 0; i < x.rank(); ++i) dims[static_cast<size_t>(i)] = x.dim(i);
    dims[static_cast<size_t>(x.rank() - 1)] = out_;
    const Shape shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(x.rank())));
    check_residual(epilogue, shape);
    const int64_t rows = x.num_elements() / in_;
    const ProfileSpan span = op_span(context, "linear", [&] { return work(x, rows); });
    if (rows == 0) return Tensor::empty(shape, dtype_, context.scratch);

    OperationKey key{.bias = bias_.defined(), .dtype = dtype_, .in = in_, .out = out_, .batch = rows};
    key.epilogue = {epilogue.activation, epilogue.residual != nullptr};
    key.threads = onednn::thread_count();
    const auto ready = prepare(context, x, key);
    Tensor y = Tensor::empty(shape, dtype_, context.scratch);  // after the weights, which take the place of others
    onednn::Arguments arguments{x.bytes(), ready.weights.bytes(), bias_.defined() ? bias_.data<float>() : nullptr, nullptr, y.mutable_bytes()};
    if (ready.operation->residual_fused) arguments.residual = epilogue.residual->bytes();
    onednn::execute(*ready.operation, arguments, context.scratch);
    if (epilogue.residual != nullptr && !ready.operation->residual_fused) return add(context, y, *epilogue.residual);
    return y;
  }

  int64_t in_features() const override { return in_; }
  int64_t out_features() const override { return out_; }
  size_t size_bytes() const override { return layer_.size_bytes() + (bias_.defined() ? bias_.size_bytes() : 0); }

 private:
  ProfileWork work(const Tensor& x, int64_t rows) const {
    const double elements = static_cast<double>(rows) * static_cast<double>(out_), weights = static_cast<double>(in_) * static_cast<double>(out_);
    return {x.shape().to_string() + " -> " + std::to_string(out_), to_string(dtype_), 2 * elements * static_cast<double>(in_),
            static_cast<double>(x.size_bytes()) + static_cast<double>(size_of(dtype_)) * (elements + weights)};
  }
  PackedLayer::Ready prepare(Context& context, const Tensor& x, const OperationKey& key) const {
    const ProfileSpan span = prepare_span(context, [&] { return ProfileWork{work(x, 0).shape, to_string(dtype_), 0, 0}; });
    return layer_.ready(context, key, [&](const Desc& weights) { return compile(key, weights); });
  }
  void check(const Context& context, const Tensor& x) const {
    if (context.dtype != dtype_ || x.dtype() != dtype_) {
      throw Error(ErrorCode::invalid, "linear: dtypes differ",
                  {{"weights", std::string(to_string(dtype_))},
                   {"context", std::string(to_string(context.dtype))},
                   {"input", std::string(to_string(x.dtype()))}});
    }
    if (x.rank() < 1 || x.dim(x.rank() - 1) != in_) {
      throw Error(ErrorCode::invalid, "linear: input does not fit the weight", {{"want", std::to_string(in_)}, {"got", x.shape().to_string()}});
    }
  }
  void check_residual(const Epilogue& epilogue, const Shape& shape) const {
    if (epilogue.residual == nullptr) return;
    if (epilogue.residual->shape() != shape || epilogue.residual->dtype() != dtype_) {
      throw Error(ErrorCode::invalid, "linear: residual does not fit the result",
                  {{"want", shape.to_string()}, {"got", epilogue.residual->shape().to_string()}});
    }
  }
  // Of the layouts that oneDNN's fast kernels take, the one that fills up the least; it prefers blocks of 64 for the few outputs, too, of an
  // adapter's first factor.
  std::optional<Tag> narrow_layout() const {
    if (out_ <= 16) return dtype_ == DType::f32 ? Tag::BA16a16b : Tag::BA16a16b2a;
    if (out_ <= 32) return dtype_ == DType::f32 ? Tag::BA16a32b : Tag::BA16a32b2a;
    return std::nullopt;
  }
  onednn::Operation compile(const OperationKey& key, const Desc& weights) const {
    const auto type = onednn::data_type(dtype_);
    const Desc bias = bias_.defined() ? Desc({1, out_}, dnnl::memory::data_type::f32, Tag::ab) : Desc();
    onednn::MatmulDescs descs{Desc({key.batch, in_}, type, Tag::ab), weights, bias, Desc({key.batch, out_}, type, Tag::ab)};
    onednn::Operation usual = onednn::compile(descs, key.epilogue, key.threads);
    const auto narrow = narrow_layout();
    if (!narrow || weights != any()) return usual;
    descs.weights = Desc({in_, out_}, type, *narrow);
    try {
      onednn::Operation small = onednn::compile(descs, key.epilogue, key.threads);
      if (small.implementation == usual.implementation) return small;
    } catch (const Error&) {
      // Not on this machine.
    }
    return usual;
  }
  Desc any() const { return Desc({in_, out_}, onednn::data_type(dtype_), Tag::any); }

  int64_t in_, out_;
  DType dtype_;
  Tensor bias_;
  mutable PackedLayer layer_;
};

}  // namespace

DType kept_dtype(DType source, DType compute_dtype, WeightStorage storage) {
  if (storage == WeightStorage::computed || compute_dtype != DType::f32) return compute_dtype;
  if (source == DType::bf16) return DType::bf16;
  // f16 has all values of fp8.
  const bool fits = source == DType::f16 || source == DType::f8_e4m3fn || source == DType::f8_e5m2;
  return fits ? DType::f16 : DType::f32;
}

std::shared_ptr<const Linear> Linear::create(const WeightSource& weight, const Tensor& bias, DType compute_dtype, WeightStorage storage) {
  if (!weight.defined() || weight.shape().rank() != 2 || weight.shape().num_elements() == 0 || !is_floating(weight.dtype())) {
    throw Error(ErrorCode::invalid, "linear: weight is not a matrix of floating numbers", {{"shape", weight.shape().to_string()}});
  }
  if (bias.defined() && (bias.rank() != 1 || bias.dim(0) != weight.shape()[0] || !is_floating(bias.dtype()))) {
    throw Error(ErrorCode::invalid, "linear: bias does not fit the weight",
                {{"weight", weight.shape().to_string()}, {"bias", bias.shape().to_string()}});
  }
  return std::make_shared<OneDnnLinear>(weight, bias, compute_dtype, storage);
}

}  // namespace veneer::compute
