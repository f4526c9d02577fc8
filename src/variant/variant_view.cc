#include "variant/variant_view.h"

#include "tensor/convert.h"
#include "variant/resident_modules.h"
#include "veneer/error.h"

namespace veneer::variant {

VariantView::VariantView(const ModelPatcher& patcher, std::shared_ptr<residency::ResidentSet> residents)
    : patcher_(patcher), residents_(std::move(residents)), leases_(patcher.model()->modules().size()) {}

Tensor VariantView::linear(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) {
  return static_cast<const ResidentLinear&>(resident(module, ModuleKind::linear)).weights->forward(context, x, epilogue);
}

Tensor VariantView::conv2d(compute::Context& context, ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) {
  return static_cast<const ResidentConv2d&>(resident(module, ModuleKind::conv2d)).weights->forward(context, x, epilogue);
}

const NormWeights& VariantView::norm(ModuleId module) { return static_cast<const ResidentNorm&>(resident(module, ModuleKind::norm)).weights; }

const Tensor& VariantView::embedding(ModuleId module) {
  const std::string key = base().modules().at(module).name + ".weight";
  if (patcher_.key_patches(key).empty()) return base().weight(key);
  return static_cast<const ResidentTable&>(resident(module, ModuleKind::embedding)).table;
}

const residency::Resident& VariantView::resident(ModuleId module, ModuleKind kind) {
  residency::Lease& lease = leases_.at(module);
  if (!lease) {
    const ModuleDef& def = base().modules()[module];
    // A network that asks for a module as something it is not is a fault of Veneer, and would read the wrong type.
    if (def.kind != kind) throw Error(ErrorCode::internal, "variant: module is of another kind", {{"module", def.name}});
    FingerprintBuilder key;
    key.add(def.kind).add(patcher_.weight_fingerprint(def.name + ".weight"));
    if (def.has_bias) key.add(patcher_.weight_fingerprint(def.name + ".bias"));
    lease = residents_->acquire(key.finish(), patcher_.model(), def.name, [&] { return build(def); });
  }
  return *lease.get();
}

std::shared_ptr<const residency::Resident> VariantView::build(const ModuleDef& def) const {
  const std::string key = def.name + ".weight";
  switch (def.kind) {
    case ModuleKind::linear: return std::make_shared<ResidentLinear>(compute::Linear::create(weight(key), bias(def), compute_dtype()));
    case ModuleKind::conv2d: return std::make_shared<ResidentConv2d>(compute::Conv2d::create(weight(key), bias(def), def.geometry, compute_dtype()));
    case ModuleKind::norm: return std::make_shared<ResidentNorm>(NormWeights{patcher_.patched_weight(key), bias(def)});
    case ModuleKind::embedding: return std::make_shared<ResidentTable>(patcher_.patched_weight(key));
  }
  throw Error(ErrorCode::internal, "variant: unknown module kind", {{"module", def.name}});
}

Tensor VariantView::bias(const ModuleDef& def) const { return def.has_bias ? patcher_.patched_weight(def.name + ".bias") : Tensor(); }

Tensor VariantView::weight(const std::string& key) const {
  return patcher_.key_patches(key).empty() ? base().weight(key) : patcher_.patched_weight(key);
}

}  // namespace veneer::variant
