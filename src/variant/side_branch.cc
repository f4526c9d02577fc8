#include "variant/side_branch.h"

#include "compute/ops.h"
#include "variant/resident_modules.h"

namespace veneer::variant {

Tensor forward_alone(compute::Context& context, const compute::Linear& layer, const LayerInput& x, const compute::Epilogue& epilogue) {
  return layer.forward(context, x.tensor(), epilogue);
}
Tensor forward_alone(compute::Context& context, const compute::Conv2d& layer, const LayerInput& x, const compute::Epilogue& epilogue) {
  return layer.forward(context, x, epilogue);
}

Tensor add_branch(compute::Context& context, const LoadedVariant::Branch& branch, const LayerInput& x, const Tensor* before) {
  const auto& factors = static_cast<const ResidentBranch&>(*branch.part.object);
  // Scaled between the factors, where it is smallest; the sum so far rides on the second product as its residual.
  const compute::Epilogue add{.activation = compute::Activation::none, .residual = before};
  const Tensor inner = factors.linear_down ? factors.linear_down->forward(context, x.tensor()) : factors.conv_down->forward(context, x);
  return factors.up->forward(context, compute::scale(context, inner, branch.scale), add);
}

Tensor branch_sum(compute::Context& context, std::span<const LoadedVariant::Branch> branches, const LayerInput& x, const Tensor* residual) {
  Tensor sum;
  for (const LoadedVariant::Branch& branch : branches) sum = add_branch(context, branch, x, sum.defined() ? &sum : residual);
  return sum;
}

template <typename Layer>
Tensor forward_with_sum(compute::Context& context, const Layer& main, const Tensor& sum, const LayerInput& x, const compute::Epilogue& epilogue) {
  Tensor y = forward_alone(context, main, x, {.activation = compute::Activation::none, .residual = &sum});
  if (epilogue.activation == compute::Activation::none) return y;
  Tensor activated = compute::activate(context, y, epilogue.activation);
  return epilogue.residual != nullptr ? compute::add(context, activated, *epilogue.residual) : activated;
}

template <typename Layer>
Tensor forward_with_branches(compute::Context& context, const Layer& main, std::span<const LoadedVariant::Branch> branches, const LayerInput& x,
                             const compute::Epilogue& epilogue) {
  const bool linear_end = epilogue.activation == compute::Activation::none;
  const Tensor sum = branch_sum(context, branches, x, linear_end ? epilogue.residual : nullptr);
  return forward_with_sum(context, main, sum, x, epilogue);
}

template Tensor forward_with_branches(compute::Context&, const compute::Linear&, std::span<const LoadedVariant::Branch>, const LayerInput&,
                                      const compute::Epilogue&);
template Tensor forward_with_branches(compute::Context&, const compute::Conv2d&, std::span<const LoadedVariant::Branch>, const LayerInput&,
                                      const compute::Epilogue&);
template Tensor forward_with_sum(compute::Context&, const compute::Linear&, const Tensor&, const LayerInput&, const compute::Epilogue&);
template Tensor forward_with_sum(compute::Context&, const compute::Conv2d&, const Tensor&, const LayerInput&, const compute::Epilogue&);

}  // namespace veneer::variant
