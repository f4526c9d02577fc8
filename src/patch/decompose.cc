// DoRA's weight decomposition: arXiv:2402.09353, equation 5, with the strength outside of it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "patch/working_weight.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

// Rows per thread of loops over a weight's rows.
size_t row_grain(int64_t row_size) { return static_cast<size_t>(std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, row_size))); }

double epsilon_of(DType dtype) {
  if (dtype == DType::f16) return 0x1p-10;
  if (dtype == DType::bf16) return 0x1p-7;
  return static_cast<double>(std::numeric_limits<float>::epsilon());
}

// Whether the magnitudes belong to output rows. A scale that names another first extent belongs to input columns.
bool on_output_axis(const Tensor& dora_scale, const Shape& weight, bool reference) {
  const bool first_is_out = dora_scale.rank() > 0 && dora_scale.dim(0) == weight[0];
  return reference ? first_is_out : first_is_out && dora_scale.num_elements() == weight[0];
}

std::vector<double> row_norms(const Tensor& weight) {
  const auto rows = static_cast<size_t>(weight.dim(0)), size = static_cast<size_t>(weight.shape().num_elements_from(1));
  std::vector<double> norms(rows);
  parallel_for(rows, row_grain(static_cast<int64_t>(size)), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const float* values = weight.data<float>() + row * size;
      double sum = 0;
      for (size_t i = 0; i < size; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
      norms[row] = std::sqrt(sum);
    }
  });
  return norms;
}

std::vector<double> column_norms(const Tensor& weight) {
  const auto rows = static_cast<size_t>(weight.dim(0)), columns = static_cast<size_t>(weight.dim(1));
  const auto inner = static_cast<size_t>(weight.shape().num_elements_from(2));
  std::vector<double> sums(columns);
  const float* values = weight.data<float>();
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      for (size_t i = 0; i < inner; ++i, ++values) sums[column] += static_cast<double>(*values) * static_cast<double>(*values);
    }
  }
  for (double& sum : sums) sum = std::sqrt(sum);
  return sums;
}

}  // namespace

void check_dora_scale(const Tensor& dora_scale, const Shape& weight) {
  if (!dora_scale.defined()) return;
  const int64_t count = dora_scale.num_elements();
  if (weight.rank() >= 1 && dora_scale.rank() >= 1) {
    if (on_output_axis(dora_scale, weight, false)) return;
    if (weight.rank() >= 2 && count == weight[1] && (dora_scale.rank() == 1 || (dora_scale.dim(0) == 1 && dora_scale.dim(1) == weight[1]))) return;
  }
  throw Error(ErrorCode::invalid, "dora: magnitudes fit neither rows nor columns of the weight",
              {{"want", weight.to_string()}, {"got", dora_scale.shape().to_string()}});
}

void WorkingWeight::decompose(Tensor difference, double alpha, const Tensor& dora_scale, double strength, const WeightFunction* function) {
  check_dora_scale(dora_scale, shape());
  const Tensor magnitudes = load(dora_scale);
  WorkingWeight combined(values_.clone(), dtype_, compat_, is_slice_);
  combined.add(std::move(difference), alpha, function);

  const bool output = on_output_axis(dora_scale, shape(), reference());
  // The reference measures rows of the weight before the difference; the paper's norm is that of the sum.
  std::vector<double> factors = output ? row_norms(reference() ? values_ : combined.values_) : column_norms(combined.values_);
  const auto epsilon = static_cast<float>(epsilon_of(reference() ? dtype_ : DType::f32));
  for (size_t i = 0; i < factors.size(); ++i) {
    const float norm = round_to(round_to(static_cast<float>(factors[i]), dtype_) + epsilon, dtype_);
    factors[i] = static_cast<double>(round_to(magnitudes.floats()[i] / norm, dtype_));
  }

  const auto columns = static_cast<size_t>(output ? 1 : shape()[1]);
  const auto inner = static_cast<size_t>(shape().num_elements_from(output ? 1 : 2));
  const auto s = static_cast<float>(strength);
  const std::span<float> w = values_.mutable_floats();
  const std::span<const float> v = combined.values_.floats();
  const auto rounded = [this](float value) { return dtype_ == DType::f32 ? value : round_to(value, dtype_); };
  parallel_for(inner == 0 ? 0 : w.size() / inner, row_grain(static_cast<int64_t>(inner)), [&](size_t begin, size_t end) {
    for (size_t group = begin; group < end; ++group) {
      const auto factor = static_cast<float>(factors[output ? group : group % columns]);
      for (size_t i = group * inner; i < (group + 1) * inner; ++i) {
        const float target = rounded(v[i] * factor);
        w[i] = strength == 1 ? target : rounded(w[i] + rounded(s * rounded(target - w[i])));
      }
    }
  });
}

}  // namespace veneer::patch
