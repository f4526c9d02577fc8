#include "plugins/plugin_text.h"

#include <cstdint>

#include "veneer/error.h"

namespace veneer::plugins {
namespace {

// The length of the character that begins at `at`, or 0 if there is none: continuation bytes, overlong forms, surrogates, beyond U+10FFFF.
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF5 ? 0 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || text.size() - at < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const uint8_t second = byte(at + 1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string checked_text(VeneerText text, std::string_view what) {
  const std::string_view view = view_of(text);
  if (!is_utf8(view)) throw Error(ErrorCode::invalid, "the text is not UTF-8", {{"what", std::string(what)}});
  return std::string(view);
}

std::string printable_text(VeneerText text) {
  const std::string_view view = view_of(text);
  std::string out;
  for (size_t at = 0; at < view.size();) {
    const size_t length = character_length(view, at);
    if (length == 0) {
      out += '?';
      ++at;
    } else {
      out.append(view, at, length);
      at += length;
    }
  }
  return out;
}

}  // namespace veneer::plugins
