// CLIP's byte-pair vocabulary: 49,408 tokens and the merges between them.
//
// Tokens: 0-255 byte symbols, 256-511 the same with the end-of-word mark, 512-49405 one per merge in order of rank, then start and end
// (Radford et al. 2021; the published table bpe_simple_vocab_16e6).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace veneer::models {

// Immutable; may be read from any thread.
class BpeVocabulary {
 public:
  static constexpr int kNumMerges = 48894;
  static constexpr int32_t kFirstMerge = 512;
  static constexpr int32_t kStartToken = kFirstMerge + kNumMerges;
  static constexpr int32_t kEndToken = kStartToken + 1;
  static constexpr int32_t kSize = kEndToken + 1;

  // From the embedded table. Takes some milliseconds: build it when a prompt is first tokenised and share it.
  static std::shared_ptr<const BpeVocabulary> clip();
  // From a gzip file: a heading line, then one merge of two symbols per line; lines beyond kNumMerges are not read. Throws Error(corrupt).
  static std::shared_ptr<const BpeVocabulary> parse(std::span<const std::byte> gzip);

  // The token of one byte, as the last symbol of a word or not.
  int32_t byte_token(uint8_t byte, bool ends_word) const { return byte_tokens_[byte] + (ends_word ? 256 : 0); }
  // The token that two neighbours merge into, or -1. A smaller token is a merge of smaller rank, which goes first.
  int32_t merged(int32_t left, int32_t right) const;

 private:
  // Open addressing over a power of two; 48,894 entries fill three quarters of it.
  static constexpr uint32_t kSlots = 1U << 16;
  static uint32_t slot_of(uint32_t key) { return (key * 0x9e3779b1U) >> 16; }

  BpeVocabulary() = default;
  void add_merge(int32_t left, int32_t right, int32_t token);

  std::array<int32_t, 256> byte_tokens_{};
  std::vector<uint32_t> keys_;     // left << 16 | right
  std::vector<uint16_t> results_;  // the merged token, 0: an empty slot
};

}  // namespace veneer::models
