#include "nodes/stale_values.h"

#include <algorithm>

#include "nodes/values.h"

namespace veneer::nodes {
namespace {

bool is_stale(const variant::ModelPatcher& patcher, const ModelStore::Stale& stale) {
  return stale.bases.contains(patcher.model()->identity()) || (!stale.adapters.empty() && !patcher.patches().empty());
}

}  // namespace

bool is_stale(const graph::Value& value, const ModelStore::Stale& stale) {
  if (value.is_list()) return std::ranges::any_of(value.as_list(), [&](const graph::Value& element) { return is_stale(element, stale); });
  if (!value.is_object()) return false;
  if (value.holds<ModelValue>()) return is_stale(value.get<ModelValue>().patcher, stale);
  if (value.holds<ClipValue>()) return is_stale(value.get<ClipValue>().patcher, stale);
  if (value.holds<VaeValue>()) return is_stale(value.get<VaeValue>().patcher, stale);
  if (value.holds<GuiderValue>()) return is_stale(value.get<GuiderValue>().model.patcher, stale);
  return value.type() == "HOOKS" && !stale.adapters.empty();
}

}  // namespace veneer::nodes
