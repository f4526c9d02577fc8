#include "patch/kinds/rotation.h"

#include "veneer/error.h"

namespace veneer::patch {

double constraint(const RotationParts& parts, const WorkingWeight& weight) {
  const double alpha = parts.alpha.value_or(0);
  return weight.reference() ? alpha : alpha * static_cast<double>(weight.shape()[0]);
}

void check_rescale(const Tensor& rescale, const Shape& weight) {
  if (!rescale.defined() || rescale.num_elements() == 1 || rescale.num_elements() == weight[0]) return;
  throw Error(ErrorCode::invalid, "oft: rescale does not fit weight", {{"want", weight.to_string()}, {"got", rescale.shape().to_string()}});
}

void apply_rescale(WorkingWeight& rows, const Tensor& rescale) {
  if (!rescale.defined()) return;
  check_rescale(rescale, rows.shape());
  const Tensor factors = rows.load(rescale);
  Tensor values = rows.values();
  const int64_t size = values.shape().num_elements_from(1);
  const std::span<float> v = values.mutable_floats();
  for (size_t i = 0; i < v.size(); ++i) v[i] *= factors.floats()[factors.num_elements() == 1 ? 0 : i / static_cast<size_t>(size)];
  round_in_place(v, rows.dtype());
}

void move_towards(WorkingWeight& weight, const WorkingWeight& rotated, const RotationParts& parts, double strength, double alpha,
                  const WeightFunction* function) {
  WorkingWeight difference(rotated.values().clone(), weight.dtype(), PatchCompat::standard, false);
  difference.add(weight.values().clone(), -1, nullptr);
  if (parts.dora_scale.defined()) {
    weight.decompose(difference.values(), alpha, parts.dora_scale, strength, function);
  } else {
    weight.add(difference.values(), strength, function);
  }
}

}  // namespace veneer::patch
