#include "nodes/check_ranges.h"

#include <cmath>

#include "graph/convert_input.h"
#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

bool outside(const graph::InputDef& def, const graph::Json& value) {
  if (value.is_number_float() && std::isnan(value.get<double>())) return true;
  return graph::compare_numbers(value, def.min) == std::partial_ordering::less ||
         graph::compare_numbers(value, def.max) == std::partial_ordering::greater;
}

}  // namespace

void check_ranges(const std::vector<graph::InputDef>& defs, const graph::Inputs& inputs) {
  for (const graph::InputDef& def : defs) {
    if (!def.min.is_number() || !def.max.is_number()) continue;
    for (const graph::Value& value : inputs.list(def.name)) {
      if (!value.is_json() || !value.as_json().is_number() || !outside(def, value.as_json())) continue;
      throw Error(ErrorCode::invalid, "the value is outside of the input's range",
                  {{"input", def.name},
                   {"value", graph::dump_json(value.as_json())},
                   {"allowed", def.type + " from " + graph::dump_json(def.min) + " to " + graph::dump_json(def.max)}});
    }
  }
}

}  // namespace veneer::nodes
