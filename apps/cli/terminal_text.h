// Text that others wrote (names, values, what a file holds) on its way to a terminal, which would obey the control characters in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace veneer::cli {

// The text with escapes in the place of control characters (\n, \t, \r, \x1b, \u009b) and of bytes that are no UTF-8 (\xff). Of a text of more than
// `limit` bytes only the beginning, with what it would take at the end: "abc... (2000 bytes)".
std::string printable(std::string_view text, size_t limit = std::string_view::npos);

// The columns that a text takes on a terminal: two for characters of East Asian width and pictures, none for marks that join the one before.
size_t terminal_width(std::string_view text);

// How much of a value is shown in an error. Lists of allowed values fit; a picture as text does not.
inline constexpr size_t kMostOfAValue = 1000;

}  // namespace veneer::cli
