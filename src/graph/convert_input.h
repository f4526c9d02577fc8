// Conversion of a widget's JSON value to the declared type of its input, as ComfyUI's int(), float(), str() and bool() do it.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "graph/json.h"

namespace veneer::graph {

struct Conversion {
  Json value;          // the converted value; for types without conversion the given one
  std::string reason;  // why not, in Python's words; "" on success
  bool ok() const { return reason.empty(); }
};

// `type` is the input's declared type. INT, FLOAT, STRING and BOOLEAN convert; all others leave the value as it is.
// An INT outside of 64 bits stays a (whole) double.
Conversion convert_input(const Json& value, std::string_view type);

// Order of two JSON numbers, exact for 64-bit integers of either sign. Unordered if one is NaN or no number.
std::partial_ordering compare_numbers(const Json& a, const Json& b);

// The number as Python would print it; whole doubles without a point when `type` is INT.
std::string number_text(const Json& value, std::string_view type);

}  // namespace veneer::graph
