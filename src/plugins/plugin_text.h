// Text as it crosses the border to plug-ins.
#pragma once

#include <string>
#include <string_view>

#include "veneer/plugin_abi.h"

namespace veneer::plugins {

inline VeneerText as_abi(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view_of(VeneerText text) { return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.length); }

bool is_utf8(std::string_view text);
// A copy. Throws Error(invalid) with `what` for bytes that are no UTF-8.
std::string checked_text(VeneerText text, std::string_view what);
// A copy in which bytes that are no UTF-8 are question marks.
std::string printable_text(VeneerText text);

}  // namespace veneer::plugins
