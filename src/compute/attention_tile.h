// Attention of a block of queries of one head, in f32 registers: what attention() runs wherever the CPU has no tiles of bf16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::compute {

// Queries that one call takes at most: whole groups of vectors on every instruction set.
constexpr size_t kAttentionQueries = 192;

// What all blocks of one head share. Key j's elements begin at keys + j * key_stride, values likewise.
struct AttentionHead {
  const float* keys = nullptr;
  const float* values = nullptr;
  size_t key_stride = 0, value_stride = 0;
  size_t num_keys = 0;  // at least 1
  size_t head_dim = 0;
  // Scores times this are exponents of two: the scale of attention times log2(e).
  float factor = 1.0F;
  bool causal = false;
};

// Query i of a block begins at queries + i * query_stride, its result at results + i * result_stride.
template <typename T>
struct AttentionBlock {
  const T* queries = nullptr;
  T* results = nullptr;
  size_t query_stride = 0, result_stride = 0;
  size_t first = 0;  // the first query's place among the head's; a causal one sees keys up to its own place
  size_t count = 0;  // at most kAttentionQueries
};

// Rows of f32 or bf16, `stride` apart, as f32 side by side.
void copy_rows(const float* from, size_t stride, size_t rows, size_t columns, float* to);
void copy_rows(const uint16_t* from, size_t stride, size_t rows, size_t columns, float* to);

// Floats of working memory for one call, aligned to 64 bytes.
size_t attention_scratch(size_t head_dim);

// On the calling thread. A query's bits depend on nothing but itself, the keys, the values and the instruction set (one with vectors of 4 and more).
// Scores that are infinite or no numbers make results that are no numbers, as in softmax(q k^T) v.
void attend(const AttentionHead& head, const AttentionBlock<float>& block, float* scratch);
void attend(const AttentionHead& head, const AttentionBlock<uint16_t>& block, float* scratch);  // bf16 queries and results

}  // namespace veneer::compute
