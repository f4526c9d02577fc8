// How many letters two texts differ by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace veneer {

// Levenshtein's distance from one text to others: insertions, removals and replacements; the case of ASCII letters makes no difference. One thread.
//
// Myers' bit vectors (J. ACM 46(3), 1999), in words as Hyyro (2003) joins them: bit i of a word is one letter of the text, and a column of the table
// of distances is kept as the signs of its differences.
class EditDistance {
 public:
  explicit EditDistance(std::string_view text);

  // The edits to `other`, or most + 1 when they are more than `most`. Time grows with the length of `other`, and with that of the text over 64.
  size_t to(std::string_view other, size_t most);

 private:
  int step(const uint64_t* places);

  size_t size_, words_;
  std::vector<uint64_t> places_;     // of each letter in the text, words_ for each
  std::vector<uint64_t> up_, down_;  // where the column grows, and where it falls
};

}  // namespace veneer
