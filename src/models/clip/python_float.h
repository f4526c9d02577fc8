// Numbers in prompts, read as Python's float() reads them.
#pragma once

#include <optional>
#include <string_view>

namespace veneer::models {

// Surrounding white space, signs, exponents, "_" between digits, decimal digits of any script, and "inf", "infinity" and "nan" in any case count; a
// number that is too large becomes an infinity. nullopt when `utf8` is no such number. Linear in the text.
std::optional<double> parse_python_float(std::string_view utf8);

}  // namespace veneer::models
