#include "engine/load_report.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/runtime_options.h"
#include "residency/load_plan.h"
#include "variant/realisation.h"

namespace veneer::engine {
namespace {

using residency::ModulePlace;
using variant::ModuleId;

constexpr const char* kResident = "resident";
constexpr const char* kOnDemand = "on demand";
constexpr const char* kInFile = "file";

// A module before it has a place.
PlannedModule describe(const variant::Description& description, ModuleId module) {
  const variant::ModuleDef& def = description.model->modules()[module];
  const variant::Realisation how = variant::realise(description, module);
  PlannedModule out;
  out.name = def.name;
  out.bytes = how.bytes;
  for (const variant::BranchRealisation& branch : how.branches) out.bytes += branch.bytes;
  out.patched = how.patched;
  out.branches = how.branches.size();
  // Tables are read by row, in the file's own form.
  if (def.kind == variant::ModuleKind::embedding && !how.patched) {
    out.bytes = 0;
    out.place = kInFile;
  } else if (!how.keep) {
    out.place = kOnDemand;
  }
  return out;
}

void add_to_totals(PartPlan& plan, PlannedModule module) {
  if (module.place == kResident) plan.resident_bytes += module.bytes;
  if (module.place == kOnDemand) plan.on_demand_bytes += module.bytes;
  if (module.pinned) plan.pinned_bytes += module.bytes;
  if (module.patches_in_forward) ++plan.patches_in_forward;
  plan.modules.push_back(std::move(module));
}

// Notes which modules the plan's network has ready, and what they take.
void note_loaded(PartPlan& plan, const variant::ModelPatcher& patcher) {
  const auto loaded = patcher.load_slot().current();
  if (!loaded) return;
  std::map<std::string_view, ModuleId> ids;
  const auto& modules = patcher.model()->modules();
  for (ModuleId id = 0; id < modules.size(); ++id) ids[modules[id].name] = id;
  for (PlannedModule& module : plan.modules) module.loaded = loaded->is_loaded(ids.at(module.name));
  const variant::DynamicAccount account = loaded->account();
  plan.weight_bytes = account.weights;
  plan.patch_bytes = account.patches;
  plan.loaded_weight_bytes = account.weights_loaded;
  plan.loaded_patch_bytes = account.patches_loaded;
}

}  // namespace

PartPlan plan_part(const char* name, const variant::ModelPatcher& patcher) {
  const variant::Description& description = patcher.description();
  const variant::Runtime& runtime = patcher.runtime();
  PartPlan plan;
  plan.part = name;
  plan.architecture = patcher.model()->architecture();
  plan.stored_bytes = patcher.model_size();

  // What never stays takes no part in the plan, and is pinned with what the plan leaves.
  std::vector<PlannedModule> to_plan, others;
  std::vector<residency::ModuleSize> sizes;
  for (ModuleId id = 0; id < patcher.model()->modules().size(); ++id) {
    PlannedModule module = describe(description, id);
    if (module.place.empty()) sizes.push_back({module.name, module.bytes, module.patched});
    (module.place.empty() ? to_plan : others).push_back(std::move(module));
  }
  const size_t pinned = runtime.pinned ? runtime.pinned->budget_bytes() : 0;
  for (const residency::PlannedModule& planned : residency::plan_load(sizes, runtime.residents->budget_bytes(), pinned).modules) {
    PlannedModule& module = to_plan[planned.index];
    module.place = planned.place == ModulePlace::resident ? kResident : kOnDemand;
    module.pinned = planned.pinned;
    module.patches_in_forward = planned.patches_in_forward;
    add_to_totals(plan, std::move(module));
  }
  for (PlannedModule& module : others) {
    const bool on_demand = module.place == kOnDemand;
    module.patches_in_forward = on_demand && module.patched;
    module.pinned = on_demand && module.bytes <= pinned - plan.pinned_bytes;
    add_to_totals(plan, std::move(module));
  }
  return plan;
}

LoadReport load_variant(OpenVariant variant, const VariantRequest& request) {
  LoadReport out;
  out.model = request.model;
  out.file = variant.file;
  const auto load = [&](const char* name, variant::ModelPatcher& patcher) {
    PartPlan plan = plan_part(name, patcher);
    patcher.load();
    note_loaded(plan, patcher);
    out.parts.push_back(std::move(plan));
  };
  if (variant.parts.clip) {
    load("text_encoder", variant.parts.clip->patcher);
    variant.parts.clip->patcher.detach();
  }
  if (variant.parts.vae) {
    load("vae", variant.parts.vae->patcher);
    variant.parts.vae->patcher.detach();
  }
  variant::ModelPatcher& unet = variant.parts.model->patcher;
  load("unet", unet);
  out.account = account_of(unet.runtime());
  unet.detach();
  return out;
}

}  // namespace veneer::engine
