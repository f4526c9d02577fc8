// Token merging: before self-attention at full resolution, tokens much like another one are merged into it; after it they get what that one got.
//
// Source: Bolya and Hoffman 2023, "Token Merging for Fast Stable Diffusion", arXiv:2303.17604. Merged are the queries only, by the likeness of what
// the attention gets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nodes/options/undo_tokens.h"
#include "sampling/rng.h"

namespace veneer::nodes {

// Which tokens of [N, height * width, C] are merged into which.
class TokenMerge {
 public:
  // One token of each 2 by 2 square, drawn at random, stays; of the others the `count` that are most like one that stays (by the cosine of `tokens`)
  // are merged into that one. Nothing (and no draw) for count 0 and pictures less than two tokens high or wide.
  static std::optional<TokenMerge> match(const Tensor& tokens, int64_t height, int64_t width, int64_t count, sampling::TorchGenerator& random);

  // [N, T, C] -> [N, T - count, C]: those left alone, the most like first, then those that stay, each the mean of itself and what is merged into it.
  Tensor merge(const Tensor& tokens) const;
  // [N, T - count, C] -> [N, T, C].
  Tensor unmerge(const Tensor& tokens) const;

  // Per picture: positions of tokens that are merged, and which of the staying ones each is merged into.
  struct Row {
    std::vector<int64_t> merged, into;
    std::vector<int64_t> alone;
  };
  const std::vector<int64_t>& staying() const { return staying_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  int64_t tokens_ = 0;
  std::vector<int64_t> staying_;  // positions, ascending
  std::vector<Row> rows_;
};

// ratio: which part of the tokens to merge; at most all that do not stay. Random choices come from the run (RunState::random).
AttentionPatchPair merge_tokens(double ratio);

}  // namespace veneer::nodes
