#include "models/clip/bpe.h"

#include <limits>
#include <string>

#include "models/clip/text_cleaning.h"
#include "models/clip/unicode.h"
#include "models/clip/word_merge.h"
#include "models/clip/word_split.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

constexpr std::string_view kStart = "<|startoftext|>";
constexpr std::string_view kEnd = "<|endoftext|>";

// Where the next special token begins in `text`, and which it is; npos when there is none.
struct Special {
  size_t begin = std::string_view::npos;
  std::string_view text;
};

Special find_special(std::string_view text, size_t from) {
  for (size_t at = text.find("<|", from); at != std::string_view::npos; at = text.find("<|", at + 1)) {
    for (const std::string_view special : {kStart, kEnd}) {
      if (text.substr(at, special.size()) == special) return {at, special};
    }
  }
  return {};
}

void encode_plain(std::string_view utf8, WordMerger& merger, std::vector<int32_t>& out) {
  const std::u32string text = clean_text(utf8);
  const std::u32string_view view = text;
  size_t i = 0;
  while (i < view.size()) {
    if (is_between_words(view[i])) {
      ++i;
      continue;
    }
    const std::u32string_view word = view.substr(i, word_length(view, i));
    if (word == kStartText) {
      out.push_back(BpeVocabulary::kStartToken);
    } else if (word == kEndText) {
      out.push_back(BpeVocabulary::kEndToken);
    } else {
      merger.merge(encode_utf8(word), out);
    }
    i += word.size();
  }
}

}  // namespace

std::vector<int32_t> BpeTokenizer::encode(std::string_view utf8) const {
  // Positions within a word are 32 bit wide; lower-casing and NFC can make a text a few times longer.
  if (utf8.size() > std::numeric_limits<int32_t>::max() / 16) {
    throw Error(ErrorCode::invalid, "tokenizer: text is too long", {{"bytes", std::to_string(utf8.size())}});
  }
  std::vector<int32_t> out;
  WordMerger merger(*vocabulary_);
  size_t begin = 0;
  while (begin < utf8.size()) {
    // Special tokens are found in the raw text, so clean-up never sees across them.
    const Special special = find_special(utf8, begin);
    encode_plain(utf8.substr(begin, special.begin == std::string_view::npos ? special.begin : special.begin - begin), merger, out);
    if (special.begin == std::string_view::npos) break;
    out.push_back(special.text == kStart ? BpeVocabulary::kStartToken : BpeVocabulary::kEndToken);
    begin = special.begin + special.text.size();
  }
  return out;
}

}  // namespace veneer::models
