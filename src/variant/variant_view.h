// The view of one variant: each module comes from the LoadedVariant, with side branches added where there are some.
#pragma once

#include <memory>

#include "variant/loaded_variant.h"
#include "variant/model_view.h"
#include "variant/side_branch.h"

namespace veneer::variant {

class VariantView final : public ModelView {
 public:
  explicit VariantView(std::shared_ptr<LoadedVariant> variant) : variant_(std::move(variant)) {}

  const BaseModel& base() const override { return *variant_->description().model; }
  DType compute_dtype() const override { return variant_->description().compute_dtype; }
  Tensor linear(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) override;
  Tensor conv2d(compute::Context& context, ModuleId module, const compute::ConvInput& x, const compute::Epilogue& epilogue) override;
  NormWeights norm(ModuleId module) override;
  Tensor embedding(ModuleId module) override;
  const TransformerOptions& transformer_options() const override { return variant_->description().extras->options.transformer_options; }

  LoadedVariant& variant() const { return *variant_; }

 private:
  // Throws Error(internal) when the network asks for a module as something that it is not: it would read the wrong type.
  const ModuleDef& checked(ModuleId module, ModuleKind kind) const;
  template <typename Resident>
  Tensor forward(compute::Context& context, ModuleId module, const LayerInput& x, const compute::Epilogue& epilogue);

  std::shared_ptr<LoadedVariant> variant_;
};

}  // namespace veneer::variant
