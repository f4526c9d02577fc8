#include "compute/row_source.h"

#include "base/parallel.h"
#include "veneer/error.h"

namespace veneer::compute {

WeightSource WeightSource::reshape(const Shape& shape) const {
  if (shape.num_elements() != shape_.num_elements() || shape[0] != shape_[0]) {
    throw Error(ErrorCode::internal, "weight: reshaped to other rows", {{"from", shape_.to_string()}, {"to", shape.to_string()}});
  }
  WeightSource out = *this;
  out.shape_ = shape;
  if (stored_.defined()) out.stored_ = stored_.reshape(shape);
  return out;
}

Tensor WeightSource::whole() const {
  if (made_ == nullptr) return stored_;
  Tensor out = Tensor::empty(shape_, DType::f32);
  const int64_t row_size = shape_.num_elements_from(1);
  parallel_for(static_cast<size_t>(shape_[0]), 1, [&](size_t begin, size_t end) {
    const auto first = static_cast<int64_t>(begin), count = static_cast<int64_t>(end - begin);
    made_->rows(first, count, {out.mutable_data<float>() + first * row_size, static_cast<size_t>(count * row_size)});
  });
  return out;
}

}  // namespace veneer::compute
