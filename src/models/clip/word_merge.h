// Byte-pair merging of one word.
#pragma once

#include <cstdint>
#include <queue>
#include <string_view>
#include <vector>

#include "models/clip/bpe_vocabulary.h"

namespace veneer::models {

// Holds its buffers between words. Used by one thread at a time.
class WordMerger {
 public:
  explicit WordMerger(const BpeVocabulary& vocabulary) : vocabulary_(vocabulary) {}

  // Appends the tokens of a word of at least one byte: the pair of smallest rank is merged, leftmost first, until no pair can be.
  void merge(std::string_view word, std::vector<int32_t>& out);

 private:
  struct Candidate {
    int32_t token;     // what the pair becomes; smaller goes first
    int32_t position;  // of the left symbol
    auto operator<=>(const Candidate&) const = default;
  };
  void propose(int32_t position);

  const BpeVocabulary& vocabulary_;
  // Symbols as a doubly linked list over positions; a merged-away symbol's token is -1.
  std::vector<int32_t> tokens_, next_, previous_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

}  // namespace veneer::models
