#include "patch/working_weight.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "patch/matmul.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

// Elements per thread below which a loop stays on one.
constexpr size_t kGrain = size_t{1} << 16;

Error does_not_fit(std::string text, const Shape& want, const Shape& got) {
  return Error(ErrorCode::invalid, std::move(text), {{"want", want.to_string()}, {"got", got.to_string()}});
}

template <typename Body>
void for_rounded(std::span<float> values, DType dtype, Body body) {
  parallel_for(values.size(), kGrain, [&](size_t begin, size_t end) {
    if (dtype == DType::f32) {
      for (size_t i = begin; i < end; ++i) values[i] = body(i);
    } else if (dtype == DType::f16) {
      for (size_t i = begin; i < end; ++i) values[i] = f16_to_f32(f32_to_f16(body(i)));
    } else {
      for (size_t i = begin; i < end; ++i) values[i] = bf16_to_f32(f32_to_bf16(body(i)));
    }
  });
}

}  // namespace

void round_in_place(std::span<float> values, DType dtype) {
  if (dtype == DType::f32) return;
  for_rounded(values, dtype, [&](size_t i) { return values[i]; });
}

WorkingWeight::WorkingWeight(Tensor values, DType dtype, PatchCompat compat, bool is_slice)
    : values_(std::move(values)), dtype_(dtype), compat_(compat), is_slice_(is_slice) {}

Tensor WorkingWeight::load(const Tensor& tensor) const {
  Tensor values = to_dtype(tensor, DType::f32);
  if (dtype_ == DType::f32 || dtype_ == tensor.dtype()) return values;
  if (values.bytes() == tensor.bytes()) values = values.clone();
  round_in_place(values.mutable_floats(), dtype_);
  return values;
}

Tensor WorkingWeight::product(const Tensor& a, const Tensor& b) const {
  const int64_t m = a.dim(0), k = b.dim(0), n = b.shape().num_elements_from(1);
  if (a.shape().num_elements_from(1) != k) throw does_not_fit("patch: factors do not fit each other", a.shape(), b.shape());
  Tensor c = Tensor::empty({m, n}, DType::f32);
  matmul(a.data<float>(), b.data<float>(), c.mutable_data<float>(), static_cast<size_t>(m), static_cast<size_t>(k), static_cast<size_t>(n));
  round_in_place(c.mutable_floats(), dtype_);
  return c;
}

void WorkingWeight::scale(double factor) {
  const auto f = static_cast<float>(factor);
  const std::span<float> w = values_.mutable_floats();
  for_rounded(w, dtype_, [&](size_t i) { return w[i] * f; });
}

void WorkingWeight::assign(const Tensor& values) {
  if (values.num_elements() != values_.num_elements()) throw does_not_fit("patch: shape does not fit weight", shape(), values.shape());
  std::memcpy(values_.mutable_bytes(), values.bytes(), values_.size_bytes());
}

void WorkingWeight::add(Tensor difference, double factor, const WeightFunction* function) {
  if (difference.num_elements() != values_.num_elements()) throw does_not_fit("patch: shape does not fit weight", shape(), difference.shape());
  const auto f = static_cast<float>(factor);
  const std::span<float> w = values_.mutable_floats();
  if (function == nullptr && dtype_ == DType::f32) {
    const std::span<const float> d = difference.floats();
    for_rounded(w, dtype_, [&](size_t i) { return w[i] + f * d[i]; });
    return;
  }
  const std::span<float> d = difference.mutable_floats();
  for_rounded(d, dtype_, [&](size_t i) { return f * d[i]; });
  if (function != nullptr) {
    function->apply(d);
    round_in_place(d, dtype_);
  }
  for_rounded(w, dtype_, [&](size_t i) { return w[i] + d[i]; });
}

int64_t most_grown_elements(const Shape& from) {
  constexpr int64_t kMostTimes = 16;
  constexpr int64_t kAlways = int64_t{1} << 20;
  const int64_t elements = from.num_elements();
  return std::max(kAlways, elements > std::numeric_limits<int64_t>::max() / kMostTimes ? elements : elements * kMostTimes);
}

void check_padding(const Shape& from, const Shape& shape) {
  bool fits = from.rank() == shape.rank();
  for (int i = 0; fits && i < from.rank(); ++i) fits = shape[i] >= from[i];
  if (!fits) throw does_not_fit("patch: padded shape is smaller than the weight", from, shape);
  const int64_t limit = most_grown_elements(from);
  if (shape == from || shape.num_elements() <= limit) return;
  throw does_not_fit("patch: the weight would grow beyond the limit", from, shape).with("limit", std::to_string(limit) + " elements");
}

void WorkingWeight::pad_to(const Shape& shape) {
  if (shape == values_.shape()) return;
  check_padding(values_.shape(), shape);
  if (is_slice_) throw does_not_fit("patch: a patch with an offset cannot change the weight's shape", values_.shape(), shape);
  Tensor padded = Tensor::zeros(shape, DType::f32);
  const int rank = shape.rank();
  const Shape& old = values_.shape();
  const int64_t row = rank == 0 ? 1 : old[rank - 1];
  const int64_t rows = row == 0 ? 0 : old.num_elements() / row;
  std::array<int64_t, Shape::kMaxRank> index{};
  for (int64_t r = 0; r < rows; ++r) {
    int64_t to = 0;
    for (int i = 0; i < rank; ++i) to = to * shape[i] + index[static_cast<size_t>(i)];
    std::memcpy(padded.mutable_data<float>() + to, values_.data<float>() + r * row, static_cast<size_t>(row) * sizeof(float));
    for (int i = rank - 2; i >= 0 && ++index[static_cast<size_t>(i)] == old[i]; --i) index[static_cast<size_t>(i)] = 0;
  }
  values_ = std::move(padded);
}

}  // namespace veneer::patch
