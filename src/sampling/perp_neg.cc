#include "sampling/perp_neg.h"

namespace veneer::sampling {

Tensor perp_neg(const PerpNegInputs& inputs, double neg_scale, double scale, PerpScope scope) {
  const auto positive = inputs.positive.floats();
  const auto negative = inputs.negative.floats();
  const auto empty = inputs.empty.floats();
  Tensor result = Tensor::empty(inputs.positive.shape(), DType::f32);
  const auto out = result.mutable_floats();
  const auto rows = scope == PerpScope::row ? static_cast<size_t>(result.dim(0)) : 1;
  const size_t size = out.size() / rows;
  const float weight = static_cast<float>(neg_scale);
  const float strength = static_cast<float>(scale);
  for (size_t begin = 0; begin < out.size(); begin += size) {
    double dot = 0;
    double square = 0;
    for (size_t i = begin; i < begin + size; ++i) {
      const double pos = static_cast<double>(positive[i]) - static_cast<double>(empty[i]);
      dot += pos * (static_cast<double>(negative[i]) - static_cast<double>(empty[i]));
      square += pos * pos;
    }
    const float along = square > 0 ? static_cast<float>(dot / square) : 0.0F;
    for (size_t i = begin; i < begin + size; ++i) {
      const float pos = positive[i] - empty[i];
      const float across = negative[i] - empty[i] - along * pos;
      out[i] = empty[i] + strength * (pos - across * weight);
    }
  }
  return result;
}

}  // namespace veneer::sampling
