#include "patch/slice.h"

#include <cstring>
#include <string>

#include "veneer/error.h"

namespace veneer::patch {
namespace {

// A slice as `count` runs of `run` elements, `stride` apart in the whole, from `first` on.
struct Runs {
  size_t count, run, stride, first;
};

Runs runs_of(const Shape& whole, const Offset& offset) {
  const auto inner = static_cast<size_t>(whole.num_elements_from(offset.dim + 1));
  size_t outer = 1;
  for (int i = 0; i < offset.dim; ++i) outer *= static_cast<size_t>(whole[i]);
  return {outer, static_cast<size_t>(offset.length) * inner, static_cast<size_t>(whole[offset.dim]) * inner,
          static_cast<size_t>(offset.start) * inner};
}

}  // namespace

void check_offset(const Offset& offset, const Shape& shape) {
  const bool fits = offset.dim >= 0 && offset.dim < shape.rank() && offset.start >= 0 && offset.length >= 0 && offset.start <= shape[offset.dim] &&
                    offset.length <= shape[offset.dim] - offset.start;
  if (fits) return;
  throw Error(
      ErrorCode::invalid, "patch: offset leaves the weight",
      {{"want", shape.to_string()},
       {"got", "dim " + std::to_string(offset.dim) + ", start " + std::to_string(offset.start) + ", length " + std::to_string(offset.length)}});
}

Tensor copy_slice(const Tensor& whole, const Offset& offset) {
  check_offset(offset, whole.shape());
  Tensor part = Tensor::empty(whole.shape().with(offset.dim, offset.length), DType::f32);
  const Runs runs = runs_of(whole.shape(), offset);
  for (size_t i = 0; i < runs.count; ++i) {
    std::memcpy(part.mutable_data<float>() + i * runs.run, whole.data<float>() + runs.first + i * runs.stride, runs.run * sizeof(float));
  }
  return part;
}

void paste_slice(Tensor& whole, const Offset& offset, const Tensor& part) {
  check_offset(offset, whole.shape());
  const Runs runs = runs_of(whole.shape(), offset);
  for (size_t i = 0; i < runs.count; ++i) {
    std::memcpy(whole.mutable_data<float>() + runs.first + i * runs.stride, part.data<float>() + i * runs.run, runs.run * sizeof(float));
  }
}

}  // namespace veneer::patch
