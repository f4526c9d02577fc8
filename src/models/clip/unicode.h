// Code points: decoding, and the properties of characters that tokenising needs, as Python's and Unicode's tables give them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace veneer::models {

inline constexpr char32_t kReplacement = 0xFFFD;

// Decodes UTF-8. A byte that begins no valid sequence becomes U+FFFD; overlong forms, surrogates and values past U+10FFFF are not valid.
std::u32string decode_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t code_point);
std::string encode_utf8(std::u32string_view text);

bool is_letter(char32_t c);           // general category L*
bool is_number(char32_t c);           // general category N*
bool is_control(char32_t c);          // general category C*: controls, formats, private use, unassigned; tab and line ends too
bool is_space_separator(char32_t c);  // general category Zs
// What Python's str.split() splits at and str.isspace() accepts.
bool is_python_space(char32_t c);
// 0-9 for a decimal digit of any script, -1 otherwise.
int decimal_value(char32_t c);

// Normalisation form C, in linear time also for long runs of combining marks.
std::u32string normalize_nfc(std::u32string_view text);
// The full lower-case mapping as Python's str.lower() applies it to `word`: a capital sigma depends on its neighbours, dotted capital I gives two.
std::u32string to_lower(std::u32string_view word);

}  // namespace veneer::models
