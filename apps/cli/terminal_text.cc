#include "terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>

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

struct Range {
  char32_t first, last;
};

// Of Unicode 15: East Asian Width W and F, in order.
constexpr auto kWide = std::to_array<Range>(
    {{0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},
     {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26F2, 0x26F5},   {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},
     {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
     {0x3400, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
     {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FB}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320},
     {0x1F32D, 0x1F64F}, {0x1F680, 0x1F6FC}, {0x1F7E0, 0x1F7F0}, {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}});
// Marks and joiners.
constexpr auto kNoWidth = std::to_array<Range>({{0x0300, 0x036F},
                                                {0x0483, 0x0489},
                                                {0x0591, 0x05BD},
                                                {0x0610, 0x061A},
                                                {0x064B, 0x065F},
                                                {0x0E31, 0x0E31},
                                                {0x0E34, 0x0E3A},
                                                {0x0E47, 0x0E4E},
                                                {0x1AB0, 0x1AFF},
                                                {0x1DC0, 0x1DFF},
                                                {0x200B, 0x200F},
                                                {0x2060, 0x2064},
                                                {0x20D0, 0x20FF},
                                                {0x302A, 0x302D},
                                                {0x3099, 0x309A},
                                                {0xFE00, 0xFE0F},
                                                {0xFE20, 0xFE2F},
                                                {0xFEFF, 0xFEFF},
                                                {0xE0100, 0xE01EF}});

bool is_in(std::span<const Range> ranges, char32_t code) {
  const auto after = std::ranges::upper_bound(ranges, code, {}, &Range::first);
  return after != ranges.begin() && code <= std::prev(after)->last;
}

}  // namespace

size_t terminal_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += is_in(kNoWidth, character.code) ? 0 : is_in(kWide, character.code) ? 2 : 1;
    text.remove_prefix(std::max<size_t>(character.length, 1));
  }
  return width;
}

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
