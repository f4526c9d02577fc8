#include "variant/variant_view.h"

#include "compute/ops.h"
#include "variant/resident_modules.h"
#include "veneer/error.h"

namespace veneer::variant {

const ModuleDef& VariantView::checked(ModuleId module, ModuleKind kind) const {
  const ModuleDef& def = base().modules().at(module);
  if (def.kind != kind) throw Error(ErrorCode::internal, "variant: module is of another kind", {{"module", def.name}});
  return def;
}

template <typename Resident>
Tensor VariantView::forward(compute::Context& context, ModuleId module, const LayerInput& x, const compute::Epilogue& epilogue) {
  // Branches first, one by one: under a small memory budget each is let go before the next part is made.
  Tensor sum;
  const size_t branches = variant_->num_branches(module);
  for (size_t i = 0; i < branches; ++i) {
    const Tensor* residual = epilogue.activation == compute::Activation::none ? epilogue.residual : nullptr;
    sum = add_branch(context, variant_->use_branch(module, i), x, i > 0 ? &sum : residual);
  }
  const LoadedVariant::Part part = variant_->use_main(module);
  const auto& main = *static_cast<const Resident&>(*part.object).weights;
  return branches == 0 ? forward_alone(context, main, x, epilogue) : forward_with_sum(context, main, sum, x, epilogue);
}

Tensor VariantView::linear(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) {
  checked(module, ModuleKind::linear);
  return forward<ResidentLinear>(context, module, x, epilogue);
}

Tensor VariantView::conv2d(compute::Context& context, ModuleId module, const compute::ConvInput& x, const compute::Epilogue& epilogue) {
  checked(module, ModuleKind::conv2d);
  return forward<ResidentConv2d>(context, module, x, epilogue);
}

NormWeights VariantView::norm(ModuleId module) {
  checked(module, ModuleKind::norm);
  const LoadedVariant::Part part = variant_->use_main(module);
  return static_cast<const ResidentNorm&>(*part.object).weights;
}

Tensor VariantView::embedding(ModuleId module) {
  const std::string key = checked(module, ModuleKind::embedding).name + ".weight";
  if (!variant_->description().is_patched(key)) return base().weight(key);
  const LoadedVariant::Part part = variant_->use_main(module);
  return static_cast<const ResidentTable&>(*part.object).table;
}

}  // namespace veneer::variant
