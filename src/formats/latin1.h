// Between UTF-8 and Latin-1 (ISO 8859-1), whose 256 characters are Unicode's first.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace veneer::formats {

// Nothing when the text is not UTF-8 or has a character past U+00FF.
std::optional<std::string> latin1_from_utf8(std::string_view text);
std::string utf8_from_latin1(std::string_view text);
// Strict: no overlong forms, surrogates or values past U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace veneer::formats
