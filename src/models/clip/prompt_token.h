// One place of a chunk: a token of the vocabulary or a vector of a textual inversion.
#pragma once

#include <cstdint>

namespace veneer::models {

struct PromptToken {
  int32_t id = 0;          // of the vocabulary; unused for an embedding's vector
  int32_t embedding = -1;  // index into TokenizedPrompt::embeddings, -1 for a token of the vocabulary
  int32_t row = 0;         // of that embedding's vectors
  int32_t word_id = 0;     // counts groups of the prompt from 1; 0 for start, end and padding
  double weight = 1;
  bool operator==(const PromptToken&) const = default;
};

}  // namespace veneer::models
