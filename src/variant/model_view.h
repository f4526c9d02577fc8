// ModelView: what a network's forward sees of a variant. It answers "this module, with this variant's weights" and hides where they come from.
#pragma once

#include "compute/context.h"
#include "compute/weights.h"
#include "tensor/tensor.h"
#include "variant/base_model.h"
#include "variant/model_options.h"

namespace veneer::variant {

// Weight and bias of a norm, f32, [C].
struct NormWeights {
  Tensor weight, bias;
};

// Used by one thread at a time. Dropping it releases what it holds.
class ModelView {
 public:
  virtual ~ModelView() = default;
  virtual const BaseModel& base() const = 0;
  // f32 or bf16: contexts given to the calls below must have it.
  virtual DType compute_dtype() const = 0;
  // Shapes as compute::Linear::forward and compute::Conv2d::forward.
  virtual Tensor linear(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue = {}) = 0;
  virtual Tensor conv2d(compute::Context& context, ModuleId module, const compute::ConvInput& x, const compute::Epilogue& epilogue = {}) = 0;
  virtual NormWeights norm(ModuleId module) = 0;
  // The table of an embedding module, in its stored dtype: [rows, width].
  virtual Tensor embedding(ModuleId module) = 0;
  virtual const TransformerOptions& transformer_options() const = 0;
};

}  // namespace veneer::variant
