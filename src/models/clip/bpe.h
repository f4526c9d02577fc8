// Text to CLIP tokens: clean-up, cutting into words, and byte-pair merging of each word.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "models/clip/bpe_vocabulary.h"

namespace veneer::models {

// Immutable; encode() may be called from several threads at once.
class BpeTokenizer {
 public:
  explicit BpeTokenizer(std::shared_ptr<const BpeVocabulary> vocabulary) : vocabulary_(std::move(vocabulary)) {}

  // The tokens of a UTF-8 text, without start and end tokens around it. "<|startoftext|>" and "<|endoftext|>" in the text become those tokens. Bytes
  // that are not UTF-8 are ignored. Takes O(n log n) time for n bytes, whatever they are.
  std::vector<int32_t> encode(std::string_view utf8) const;

  const BpeVocabulary& vocabulary() const { return *vocabulary_; }

 private:
  std::shared_ptr<const BpeVocabulary> vocabulary_;
};

}  // namespace veneer::models
