#include "residency/load_plan.h"

#include <algorithm>
#include <numeric>

namespace veneer::residency {

std::vector<size_t> load_order(std::span<const ModuleSize> modules) {
  std::vector<size_t> order(modules.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (modules[a].bytes != modules[b].bytes) return modules[a].bytes > modules[b].bytes;
    return modules[a].name > modules[b].name;
  });
  return order;
}

LoadPlan plan_load(std::span<const ModuleSize> modules, size_t budget, size_t pinned_budget) {
  LoadPlan plan;
  plan.modules.reserve(modules.size());
  for (const size_t index : load_order(modules)) {
    const ModuleSize& module = modules[index];
    PlannedModule planned{.index = index};
    if (module.bytes <= budget && plan.resident_bytes <= budget - module.bytes) {
      plan.resident_bytes += module.bytes;
    } else {
      planned.place = ModulePlace::on_demand;
      planned.patches_in_forward = module.patched;
      planned.pinned = module.bytes <= pinned_budget && plan.pinned_bytes <= pinned_budget - module.bytes;
      if (planned.pinned) plan.pinned_bytes += module.bytes;
    }
    plan.modules.push_back(planned);
  }
  return plan;
}

}  // namespace veneer::residency
