#include "models/clip/word_split.h"

#include <array>

#include "models/clip/unicode.h"

namespace veneer::models {
namespace {

// The published pattern ignores case, and U+017F (long s) is another case of s.
bool same_letter(char32_t c, char32_t pattern) { return c == pattern || (pattern == U's' && c == 0x17F); }

bool matches(std::u32string_view text, size_t begin, std::u32string_view pattern) {
  if (text.size() - begin < pattern.size()) return false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!same_letter(text[begin + i], pattern[i])) return false;
  }
  return true;
}

bool is_other(char32_t c) { return !is_between_words(c) && !is_letter(c) && !is_number(c); }

}  // namespace

// U+0345 is neither a letter nor, as its other case is one, anything else to a pattern that ignores case.
bool is_between_words(char32_t c) { return is_python_space(c) || c == 0x345; }

size_t word_length(std::u32string_view text, size_t begin) {
  constexpr std::array<std::u32string_view, 9> kFixed = {kStartText, kEndText, U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"};
  const char32_t first = text[begin];
  if (first == U'<' || first == U'\'') {
    for (const std::u32string_view pattern : kFixed) {
      if (matches(text, begin, pattern)) return pattern.size();
    }
  }
  if (is_number(first)) return 1;
  const bool letters = is_letter(first);
  size_t end = begin + 1;
  while (end < text.size() && (letters ? is_letter(text[end]) : is_other(text[end]))) ++end;
  return end - begin;
}

}  // namespace veneer::models
