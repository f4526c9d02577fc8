// The view that ModelPatcher::patch_model hands out: modules are materialised on first use and shared through the resident set.
#pragma once

#include <memory>
#include <vector>

#include "residency/resident_set.h"
#include "variant/model_patcher.h"
#include "variant/model_view.h"

namespace veneer::variant {

class VariantView final : public ModelView {
 public:
  // Keeps a copy of the patcher, so later changes of the original do not reach a running view.
  VariantView(const ModelPatcher& patcher, std::shared_ptr<residency::ResidentSet> residents);

  const BaseModel& base() const override { return *patcher_.model(); }
  DType compute_dtype() const override { return patcher_.compute_dtype(); }
  Tensor linear(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) override;
  Tensor conv2d(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) override;
  const NormWeights& norm(ModuleId module) override;
  const Tensor& embedding(ModuleId module) override;
  const TransformerOptions& transformer_options() const override { return patcher_.transformer_options(); }

 private:
  // The leased entry of a module, built on first use. `kind` is what the caller expects the module to be.
  const residency::Resident& resident(ModuleId module, ModuleKind kind);
  std::shared_ptr<const residency::Resident> build(const ModuleDef& def) const;
  // The bias with patches, f32; undefined when the module has none.
  Tensor bias(const ModuleDef& def) const;
  // The weight as the packer should read it: the stored tensor itself when it is unpatched.
  Tensor weight(const std::string& key) const;

  ModelPatcher patcher_;
  std::shared_ptr<residency::ResidentSet> residents_;
  std::vector<residency::Lease> leases_;  // by module id
};

}  // namespace veneer::variant
