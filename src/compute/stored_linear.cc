#include "compute/stored_linear.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compute/check.h"
#include "compute/onednn.h"
#include "compute/op_span.h"
#include "compute/operation_cache.h"
#include "compute/ops.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

using onednn::Desc;
using onednn::Tag;
using OperationPtr = std::shared_ptr<const onednn::Operation>;

// The result's shape: x's with another last extent.
Shape with_last(const Shape& shape, int64_t extent) {
  std::array<int64_t, Shape::kMaxRank> dims{};
  for (int i = 0; i < shape.rank(); ++i) dims[static_cast<size_t>(i)] = shape[i];
  dims[static_cast<size_t>(shape.rank() - 1)] = extent;
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(shape.rank())));
}

class StoredLinear final : public Linear {
 public:
  StoredLinear(Tensor weight, DType dtype) : weight_(std::move(weight)), in_(weight_.dim(1)), out_(weight_.dim(0)), dtype_(dtype) {}

  Tensor forward(Context& context, const Tensor& x, const Epilogue& epilogue) const override {
    check_activation(context, x, "linear");
    check_that(context.dtype == dtype_, "linear", "dtypes of weights and context differ", weight_.shape());
    check_that(x.dim(x.rank() - 1) == in_, "linear", "input does not fit the weight", x.shape());
    const Shape shape = with_last(x.shape(), out_);
    if (epilogue.residual != nullptr) {
      check_activation(context, *epilogue.residual, "linear");
      check_that(epilogue.residual->shape() == shape, "linear", "residual does not fit the result", epilogue.residual->shape());
    }
    const int64_t rows = x.num_elements() / in_;
    if (rows == 0) return Tensor::empty(shape, dtype_, context.scratch);
    OperationKey key{.dtype = dtype_, .in = in_, .out = out_, .batch = rows};
    key.epilogue = {epilogue.activation, epilogue.residual != nullptr};
    key.threads = onednn::thread_count();
    const Kernel kernel = kernel_for(context, key);
    if (kernel.packed) return kernel.packed->forward(context, x, epilogue);

    const ProfileSpan span = op_span(context, "linear", [&] { return work(x, rows); });
    const Tensor weights = to_dtype(weight_, dtype_, context.scratch);
    Tensor y = Tensor::empty(shape, dtype_, context.scratch);
    onednn::Arguments arguments{x.bytes(), weights.bytes(), nullptr, nullptr, y.mutable_bytes()};
    const onednn::Operation& operation = *kernel.operation;
    if (operation.residual_fused) arguments.residual = epilogue.residual->bytes();
    onednn::execute(operation, arguments, context.scratch);
    return epilogue.residual != nullptr && !operation.residual_fused ? add(context, y, *epilogue.residual) : y;
  }

  int64_t in_features() const override { return in_; }
  int64_t out_features() const override { return out_; }
  size_t size_bytes() const override {
    const std::lock_guard lock(mutex_);
    return packed_ ? packed_->size_bytes() : 0;
  }

 private:
  // One of the two.
  struct Kernel {
    OperationPtr operation;
    std::shared_ptr<const Linear> packed;
  };

  Kernel kernel_for(const Context& context, const OperationKey& key) const {
    const std::lock_guard lock(mutex_);
    if (packed_) return {nullptr, packed_};
    for (const auto& [known, operation] : operations_) {
      if (known == key) return {operation, nullptr};
    }
    const auto type = onednn::data_type(dtype_);
    const auto compile = [&](const Desc& weights) {
      return onednn::compile(onednn::MatmulDescs{Desc({key.batch, in_}, type, Tag::ab), weights, Desc(), Desc({key.batch, out_}, type, Tag::ab)},
                             key.epilogue, key.threads);
    };
    const Desc as_it_lies({in_, out_}, type, Tag::ba);
    OperationPtr operation =
        context.operations ? context.operations->get(key, as_it_lies, compile) : std::make_shared<const onednn::Operation>(compile(as_it_lies));
    if (operation->implementation.find("ref") != std::string::npos) {
      packed_ = Linear::create(weight_, Tensor(), dtype_);
      return {nullptr, packed_};
    }
    if (operations_.size() >= kMostOperations) operations_.erase(operations_.begin());
    operations_.emplace_back(key, operation);
    return {std::move(operation), nullptr};
  }

  ProfileWork work(const Tensor& x, int64_t rows) const {
    const double in = static_cast<double>(in_), elements = static_cast<double>(rows) * static_cast<double>(out_);
    return {x.shape().to_string() + " -> " + std::to_string(out_), to_string(dtype_), 2 * elements * in,
            static_cast<double>(x.size_bytes()) + static_cast<double>(size_of(dtype_)) * (elements + in * static_cast<double>(out_))};
  }

  static constexpr size_t kMostOperations = 8;
  const Tensor weight_;
  const int64_t in_, out_;
  const DType dtype_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<OperationKey, OperationPtr>> operations_;
  mutable std::shared_ptr<const Linear> packed_;
};

}  // namespace

std::shared_ptr<const Linear> make_stored_linear(const Tensor& weight, DType compute_dtype) {
  if (!weight.defined() || weight.rank() != 2 || weight.num_elements() == 0 || !is_floating(weight.dtype())) {
    throw Error(ErrorCode::invalid, "linear: weight is not a matrix of floating numbers",
                {{"shape", weight.defined() ? weight.shape().to_string() : "none"}});
  }
  return std::make_shared<StoredLinear>(weight, compute_dtype);
}

}  // namespace veneer::compute
