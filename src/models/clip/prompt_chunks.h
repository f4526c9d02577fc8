// Laying out groups of tokens in chunks of the encoder's length.
#pragma once

#include <vector>

#include "models/clip/clip_kind.h"
#include "models/clip/prompt_token.h"

namespace veneer::models {

// Throws Error(invalid) when a chunk of `kind` could not hold the longest group that must stay whole.
void check_chunk_rules(const ClipKind& kind);

// Chunks of kind.chunk_length tokens: start, up to chunk_length - 2 tokens, end, padding. A group of at least max_word_length tokens is split where a
// chunk is full, a shorter one moves to the next chunk. Sets word ids: group i (empty ones count) has i + 1.
std::vector<std::vector<PromptToken>> fill_chunks(const std::vector<std::vector<PromptToken>>& groups, const ClipKind& kind);

// Start, end, padding.
std::vector<PromptToken> empty_chunk(const ClipKind& kind);

}  // namespace veneer::models
