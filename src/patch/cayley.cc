#include "patch/cayley.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "tensor/convert.h"

namespace veneer::patch {
namespace {

// Solves (I + Q) X = I - Q by elimination with row pivots, and writes X^T: as Q^T = -Q, that is (I + Q)(I - Q)^-1. Every I + Q is invertible.
void rotate(const std::vector<double>& q, size_t size, float* out) {
  std::vector<double> left(q), right(q);
  for (double& value : right) value = -value;
  for (size_t i = 0; i < size; ++i) {
    left[i * size + i] += 1;
    right[i * size + i] += 1;
  }
  for (size_t column = 0; column < size; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < size; ++row) {
      if (std::fabs(left[row * size + column]) > std::fabs(left[pivot * size + column])) pivot = row;
    }
    for (size_t i = 0; i < size && pivot != column; ++i) {
      std::swap(left[pivot * size + i], left[column * size + i]);
      std::swap(right[pivot * size + i], right[column * size + i]);
    }
    const double inverse = 1 / left[column * size + column];
    for (size_t i = 0; i < size; ++i) {
      left[column * size + i] *= inverse;
      right[column * size + i] *= inverse;
    }
    for (size_t row = 0; row < size; ++row) {
      const double factor = left[row * size + column];
      if (row == column || factor == 0) continue;
      for (size_t i = 0; i < size; ++i) {
        left[row * size + i] -= factor * left[column * size + i];
        right[row * size + i] -= factor * right[column * size + i];
      }
    }
  }
  for (size_t row = 0; row < size; ++row) {
    for (size_t i = 0; i < size; ++i) out[i * size + row] = static_cast<float>(right[row * size + i]);
  }
}

}  // namespace

Tensor cayley(const Tensor& blocks, double limit) {
  const Tensor values = to_dtype(blocks, DType::f32);
  const auto size = static_cast<size_t>(blocks.dim(blocks.rank() - 1));
  const size_t count = size == 0 ? 0 : static_cast<size_t>(values.num_elements()) / (size * size);
  Tensor result = Tensor::empty(blocks.shape(), DType::f32);
  std::vector<double> all(count * size * size);
  double squares = 0;
  for (size_t block = 0; block < count; ++block) {
    const float* b = values.data<float>() + block * size * size;
    double* q = all.data() + block * size * size;
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < size; ++j) {
        q[i * size + j] = static_cast<double>(b[i * size + j] - b[j * size + i]);
        squares += q[i * size + j] * q[i * size + j];
      }
    }
  }
  const double norm = std::sqrt(squares) + 1e-8;
  const double factor = limit > 0 && norm > limit ? limit / norm : 1;
  parallel_for(count, 1, [&](size_t begin, size_t end) {
    for (size_t block = begin; block < end; ++block) {
      std::vector<double> q(all.begin() + static_cast<std::ptrdiff_t>(block * size * size),
                            all.begin() + static_cast<std::ptrdiff_t>((block + 1) * size * size));
      for (double& value : q) value *= factor;
      rotate(q, size, result.mutable_data<float>() + block * size * size);
    }
  });
  return result;
}

}  // namespace veneer::patch
