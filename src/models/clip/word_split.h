// Cutting cleaned text into the words that byte-pair merging works within.
#pragma once

#include <cstddef>
#include <string_view>

namespace veneer::models {

inline constexpr std::u32string_view kStartText = U"<|startoftext|>";
inline constexpr std::u32string_view kEndText = U"<|endoftext|>";

// White space, and the one character that belongs to no word (U+0345, combining iota below).
bool is_between_words(char32_t c);

// The length of the word that begins at `text[begin]`, which is not between words: a special token's text, an English contraction ('s 't 're 've 'm
// 'll 'd), a run of letters, one number character, or a run of other characters.
size_t word_length(std::u32string_view text, size_t begin);

}  // namespace veneer::models
