#include "models/clip/text_cleaning.h"

#include <array>
#include <utility>

#include "models/clip/unicode.h"

namespace veneer::models {
namespace {

bool is_ideograph(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> kBlocks = {{{0x4E00, 0x9FFF},
                                                                     {0x3400, 0x4DBF},
                                                                     {0x20000, 0x2A6DF},
                                                                     {0x2A700, 0x2B73F},
                                                                     {0x2B740, 0x2B81F},
                                                                     {0x2B820, 0x2CEAF},
                                                                     {0xF900, 0xFAFF},
                                                                     {0x2F800, 0x2FA1F}}};
  for (const auto& [first, last] : kBlocks) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

std::u32string drop_controls_and_space_ideographs(std::string_view utf8) {
  std::u32string out;
  for (const char32_t c : decode_utf8(utf8)) {
    if (c == U'\t' || c == U'\n' || c == U'\r' || is_space_separator(c)) {
      out += U' ';
    } else if (c == kReplacement || is_control(c)) {
      continue;
    } else if (is_ideograph(c)) {
      out += U' ';
      out += c;
      out += U' ';
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::u32string clean_text(std::string_view utf8) {
  const std::u32string text = normalize_nfc(drop_controls_and_space_ideographs(utf8));
  const std::u32string_view view = text;
  std::u32string out;
  out.reserve(text.size());
  size_t i = 0;
  while (i < view.size()) {
    if (is_python_space(view[i])) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < view.size() && !is_python_space(view[end])) ++end;
    if (!out.empty()) out += U' ';
    // Word by word, since the mapping of a capital sigma must not look beyond the word.
    out += to_lower(view.substr(i, end - i));
    i = end;
  }
  return out;
}

}  // namespace veneer::models
