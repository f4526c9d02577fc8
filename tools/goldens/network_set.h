// What the runners of networks share: a view of a base, unpatched or with options, and planar copies of activations.
#pragma once

#include <memory>

#include "compute/ops.h"
#include "residency/resident_set.h"
#include "tensor/tensor.h"
#include "variant/model_patcher.h"

namespace veneer::goldens {

// A variant in f32 of `base` with weights in a resident set of its own.
inline variant::ModelPatcher f32_variant(const std::shared_ptr<const variant::BaseModel>& base) {
  return variant::ModelPatcher(base, std::make_shared<residency::ResidentSet>(), DType::f32);
}

inline Tensor planar(const Tensor& nhwc) {
  compute::Context context;
  return compute::to_nchw_f32(context, nhwc);
}

}  // namespace veneer::goldens
