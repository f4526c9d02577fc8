#include "terminal_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace veneer::cli {
namespace {

// A character as it stands at the beginning of a text.
struct Character {
  char32_t code = 0;
  size_t length = 0;  // bytes; 0: the text does not begin with a character in UTF-8
};

Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  char32_t code = lead & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

std::string escaped(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  char text[8];
  std::snprintf(text, sizeof text, code < 0x80 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(code));
  return text;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const Character character = first_character(rest);
    const size_t length = std::max<size_t>(character.length, 1);
    if (text.size() > limit && text.size() - rest.size() + length > limit) {
      out += "... (" + std::to_string(text.size()) + " bytes)";
      break;
    }
    if (character.length == 0) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "\\x%02x", static_cast<unsigned>(static_cast<uint8_t>(rest[0])));
      out += byte;
    } else if (is_control(character.code)) {
      out += escaped(character.code);
    } else {
      out += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  return out;
}

}  // namespace veneer::cli
