#include "graph/check_ranges.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "graph/convert_input.h"
#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::graph {
namespace {

bool outside(const InputDef& input, const Json& value) {
  if (value.is_number_float() && std::isnan(value.get<double>())) return !takes_nan(input);
  return compare_numbers(value, input.min) == std::partial_ordering::less || compare_numbers(value, input.max) == std::partial_ordering::greater;
}

}  // namespace

bool takes_nan(const InputDef& input) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  return input.type == "FLOAT" && compare_numbers(input.max, kAny) >= 0 && compare_numbers(input.min, -kAny) <= 0;
}

void check_ranges(const NodeDef& def, const Inputs& call) {
  for (const InputDef& input : def.inputs) {
    if (!input.min.is_number() || !input.max.is_number() || def.validator.takes(input.name)) continue;
    for (const Value& value : call.list(input.name)) {
      if (!value.is_json() || !value.as_json().is_number() || !outside(input, value.as_json())) continue;
      throw Error(ErrorCode::invalid, "the value is outside of the input's range",
                  {{"input", input.name},
                   {"value", dump_json(value.as_json())},
                   {"allowed", input.type + " from " + dump_json(input.min) + " to " + dump_json(input.max)}});
    }
  }
}

}  // namespace veneer::graph
