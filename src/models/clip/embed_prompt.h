// From a prompt's tokens to the vectors that the text transformer starts with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/clip/clip_kind.h"
#include "models/clip/prompt_tokenizer.h"
#include "tensor/tensor.h"

namespace veneer::models {

// A chunk's places; all chunks have the same number of them.
using PromptChunk = std::vector<PromptToken>;

// The prompt's chunks without vectors of another width than the encoder's: what follows them moves up, padding fills the chunk, and `warnings` gets a
// line for each such embedding. Throws Error(invalid) for no chunk, a chunk of other than kind.chunk_length places, and a place that names an
// embedding or a vector which is not there.
std::vector<PromptChunk> fit_chunks(const TokenizedPrompt& prompt, int64_t width, const ClipKind& kind, std::vector<std::string>& warnings);

// Row `row` of a table of vectors, [rows, out.size()] in a floating dtype, as f32. Throws Error(invalid) when the table is shorter.
void read_row(const Tensor& table, int64_t row, std::span<float> out);

// Token vectors (or embeddings' vectors) plus position vectors: [chunks, places, width] f32 from `allocator`. `embeddings` are those that the chunks'
// places refer to; `tokens` and `positions` are tables of equal width in any floating dtype. Throws Error(invalid) for a token that the table lacks.
Tensor embed_chunks(std::span<const PromptChunk> chunks, std::span<const PromptEmbedding> embeddings, const Tensor& tokens, const Tensor& positions,
                    Allocator& allocator);

}  // namespace veneer::models
