#include "formats/latin1.h"

#include <cstdint>

namespace veneer::formats {
namespace {

constexpr uint32_t kIllFormed = UINT32_MAX;

// Takes one character off the front of `text`.
uint32_t next_character(std::string_view& text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(0);
  size_t length = 1;
  uint32_t value = first;
  uint32_t least = 0;
  if (first >= 0xF0 && first < 0xF8) {
    length = 4, value = first & 0x07, least = 0x10000;
  } else if (first >= 0xE0 && first < 0xF0) {
    length = 3, value = first & 0x0F, least = 0x800;
  } else if (first >= 0xC0 && first < 0xE0) {
    length = 2, value = first & 0x1F, least = 0x80;
  } else if (first >= 0x80) {
    return kIllFormed;
  }
  if (length > text.size()) return kIllFormed;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return kIllFormed;
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return kIllFormed;
  text.remove_prefix(length);
  return value;
}

}  // namespace

std::optional<std::string> latin1_from_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const uint32_t character = next_character(text);
    if (character > 0xFF) return std::nullopt;
    out += static_cast<char>(character);
  }
  return out;
}

std::string utf8_from_latin1(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto value = static_cast<unsigned char>(c);
    if (value < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0 | value >> 6);
      out += static_cast<char>(0x80 | (value & 0x3F));
    }
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (next_character(text) == kIllFormed) return false;
  }
  return true;
}

}  // namespace veneer::formats
