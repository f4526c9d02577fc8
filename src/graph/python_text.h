// Values as Python writes them: error messages and texts made from numbers are compared by clients, so they have to match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "graph/json.h"

namespace veneer::graph {

// repr(): shortest digits that read back equal, always with a point or an exponent; "inf", "nan".
std::string python_float(double value);
// The same in JSON: "Infinity", "NaN".
std::string json_number(double value);
// A whole double without point or exponent, e.g. 1180591620717411303424.
std::string whole_number(double value);
// repr(): None, True, 'text', ['a', 1], {'a': 1}.
std::string python_repr(const Json& value);
// str(): as repr, but text stands without quotes.
std::string python_str(const Json& value);
// type(x).__name__: NoneType, bool, int, float, str, list, dict.
std::string python_type(const Json& value);

// The UTF-8 code point at text[i]; moves i past it. Throws Error(invalid) where the bytes are not UTF-8.
uint32_t next_code_point(const std::string& text, size_t& i);

}  // namespace veneer::graph
