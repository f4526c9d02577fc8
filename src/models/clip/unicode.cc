#include "models/clip/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "veneer/error.h"

namespace veneer::models {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kSmallSigma = 0x3C3;
constexpr char32_t kFinalSigma = 0x3C2;

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool in(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// Unicode's Case_Ignorable: marks, formats, modifiers, and the punctuation that may stand inside of a word.
bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: break;
  }
  constexpr std::array<char32_t, 16> kInsideWords = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018,
                                                     0x2019, 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E};
  return c == 0xFF1A || std::find(kInsideWords.begin(), kInsideWords.end(), c) != kInsideWords.end();
}

// Unicode's Cased, for characters that are not Case_Ignorable: cased letters, ordinal indicators, Roman numerals, letters in circles and squares.
bool is_cased(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT: return true;
    default: break;
  }
  return c == 0xAA || c == 0xBA || in(c, 0x2160, 0x217F) || in(c, 0x24B6, 0x24E9) || in(c, 0x1F130, 0x1F149) || in(c, 0x1F150, 0x1F169) ||
         in(c, 0x1F170, 0x1F189);
}

// A capital sigma becomes final after a cased character and before none, looking through what is case-ignorable.
bool is_final_sigma(std::u32string_view word, size_t position) {
  size_t before = position;
  while (before > 0 && is_case_ignorable(word[before - 1])) --before;
  if (before == 0 || !is_cased(word[before - 1])) return false;
  size_t after = position + 1;
  while (after < word.size() && is_case_ignorable(word[after])) ++after;
  return after == word.size() || !is_cased(word[after]);
}

int combining_class(char32_t c) { return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class; }

// Marks between two starters in order of their combining class (canonical ordering), equal classes as they came.
void order_marks(std::u32string& text) {
  size_t i = 0;
  while (i < text.size()) {
    if (combining_class(text[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && combining_class(text[end]) != 0) ++end;
    std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(i), text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    i = end;
  }
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  size_t i = 0;
  while (i < text.size()) {
    if (bytes[i] < 0x80) {
      out += static_cast<char32_t>(bytes[i++]);
      continue;
    }
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes + i, static_cast<utf8proc_ssize_t>(text.size() - i), &code_point);
    out += length > 0 ? static_cast<char32_t>(code_point) : kReplacement;
    i += length > 0 ? static_cast<size_t>(length) : 1;
  }
  return out;
}

void append_utf8(std::string& out, char32_t code_point) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(length));
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

bool is_letter(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

bool is_number(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}

bool is_control(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k == UTF8PROC_CATEGORY_CN || k >= UTF8PROC_CATEGORY_CC;
}

bool is_space_separator(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ZS; }

bool is_python_space(char32_t c) {
  return in(c, 0x09, 0x0D) || in(c, 0x1C, 0x20) || c == 0x85 || c == 0x2028 || c == 0x2029 || is_space_separator(c);
}

int decimal_value(char32_t c) {
  if (c < 0x80) return c >= U'0' && c <= U'9' ? static_cast<int>(c - U'0') : -1;
  if (category(c) != UTF8PROC_CATEGORY_ND) return -1;
  // Unicode keeps the ten digits of a script together and in order, so runs of digits are multiples of ten long.
  char32_t zero = c;
  while (category(zero - 1) == UTF8PROC_CATEGORY_ND) --zero;
  return static_cast<int>((c - zero) % 10);
}

std::u32string normalize_nfc(std::u32string_view text) {
  // Below U+0300 nothing combines and every character is its own normal form.
  if (std::all_of(text.begin(), text.end(), [](char32_t c) { return c < 0x300; })) return std::u32string(text);
  std::u32string parts;
  parts.reserve(text.size() * 2);
  for (const char32_t c : text) {
    std::array<utf8proc_int32_t, 32> buffer{};
    int boundary = 0;
    const utf8proc_ssize_t length =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer.data(), buffer.size(), UTF8PROC_DECOMPOSE, &boundary);
    if (length < 0 || length > static_cast<utf8proc_ssize_t>(buffer.size()))
      throw Error(ErrorCode::internal, "unicode: a character has no decomposition");
    for (utf8proc_ssize_t i = 0; i < length; ++i) parts += static_cast<char32_t>(buffer[static_cast<size_t>(i)]);
  }
  // utf8proc's own ordering takes quadratic time on long runs of marks; its composition is one pass.
  order_marks(parts);
  static_assert(sizeof(char32_t) == sizeof(utf8proc_int32_t));
  std::vector<utf8proc_int32_t> code_points(parts.begin(), parts.end());
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()),
                                                           static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  if (length < 0) throw Error(ErrorCode::internal, "unicode: normalisation failed");
  return std::u32string(code_points.begin(), code_points.begin() + length);
}

std::u32string to_lower(std::u32string_view word) {
  std::u32string out;
  out.reserve(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    const char32_t c = word[i];
    if (c < 0x80) {
      out += c >= U'A' && c <= U'Z' ? c + 32 : c;
    } else if (c == 0x130) {
      out += U'i';
      out += char32_t{0x307};
    } else if (c == kCapitalSigma) {
      out += is_final_sigma(word, i) ? kFinalSigma : kSmallSigma;
    } else {
      out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
    }
  }
  return out;
}

}  // namespace veneer::models
