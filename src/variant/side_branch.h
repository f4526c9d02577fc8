// Low-rank side branches beside a layer: y = activation(W x + b + sum of s B (A x)) + residual. Hu et al., "LoRA" (2021), unmerged.
#pragma once

#include <span>

#include "compute/context.h"
#include "compute/weights.h"
#include "tensor/tensor.h"
#include "variant/loaded_variant.h"

namespace veneer::variant {

// What linear layers read, too: of those the tensor alone counts.
using LayerInput = compute::ConvInput;

// The layer without any branch.
Tensor forward_alone(compute::Context& context, const compute::Linear& layer, const LayerInput& x, const compute::Epilogue& epilogue);
Tensor forward_alone(compute::Context& context, const compute::Conv2d& layer, const LayerInput& x, const compute::Epilogue& epilogue);

// What one branch adds for x, plus `before` (null for none).
Tensor add_branch(compute::Context& context, const LoadedVariant::Branch& branch, const LayerInput& x, const Tensor* before);

// The sum of the branches for x, plus `residual` (null for none). `branches` is not empty; their objects are ResidentBranch for a layer of this kind.
Tensor branch_sum(compute::Context& context, std::span<const LoadedVariant::Branch> branches, const LayerInput& x, const Tensor* residual);

// The layer with its branches.
template <typename Layer>
Tensor forward_with_branches(compute::Context& context, const Layer& main, std::span<const LoadedVariant::Branch> branches, const LayerInput& x,
                             const compute::Epilogue& epilogue);

// The layer with the sum of its branches, computed before: `sum` contains the residual when there is no activation.
template <typename Layer>
Tensor forward_with_sum(compute::Context& context, const Layer& main, const Tensor& sum, const LayerInput& x, const compute::Epilogue& epilogue);

}  // namespace veneer::variant
