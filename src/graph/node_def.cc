#include "graph/node_def.h"

#include <algorithm>

namespace veneer::graph {

bool NodeValidator::takes(std::string_view input) const { return check && (takes_all || std::ranges::find(inputs, input) != inputs.end()); }

const InputDef* NodeDef::input(std::string_view name) const {
  const auto it = std::ranges::find(inputs, name, &InputDef::name);
  return it == inputs.end() ? nullptr : &*it;
}

bool NodeDef::wants_unique_id() const {
  return std::ranges::any_of(inputs, [](const InputDef& def) { return def.section == InputSection::hidden && def.type == "UNIQUE_ID"; });
}

}  // namespace veneer::graph
