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

Tensor RowSource::whole() const {
  Tensor out = Tensor::empty(shape(), DType::f32);
  const int64_t row_size = shape().num_elements_from(1);
  parallel_for(static_cast<size_t>(shape()[0]), 1, [&](size_t begin, size_t end) {
    const auto first = static_cast<int64_t>(begin), count = static_cast<int64_t>(end - begin);
    tile({first, count, 0, row_size}, {out.mutable_data<float>() + first * row_size, row_size});
  });
  return out;
}

Tensor WeightSource::whole() const { return made_ != nullptr ? made_->whole().reshape(shape_) : stored_; }

}  // namespace veneer::compute
