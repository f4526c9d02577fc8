// Patches that rearrange the tokens before an attention and put them back after it.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tensor/tensor.h"
#include "variant/model_options.h"

namespace veneer::nodes {

using AttentionPatch = variant::Identified<variant::AttentionInputs(const variant::AttentionInputs&, const variant::PatchCall&)>;
using AttentionOutputPatch = variant::Identified<Tensor(const Tensor&, const variant::PatchCall&)>;

// What a node sets for attn1: `after` undoes what `before` did.
struct AttentionPatchPair {
  AttentionPatch before;
  AttentionOutputPatch after;
};

// Puts tokens [.., T, C] back to where they were before the attention.
using UndoTokens = std::function<Tensor(const Tensor&)>;

// Every `before` remembers how it is undone, if only that there is nothing to undo; every `after` undoes the last one that is left. So patches of
// several nodes nest, in whatever order they are called. The forward keeps the list.
inline void remember_undo(const variant::PatchCall& call, UndoTokens undo) {
  call.state->get<std::vector<UndoTokens>>("undo tokens").push_back(std::move(undo));
}

inline Tensor undo_last(const Tensor& tokens, const variant::PatchCall& call) {
  auto& undos = call.state->get<std::vector<UndoTokens>>("undo tokens");
  if (undos.empty()) return tokens;
  const UndoTokens undo = std::move(undos.back());
  undos.pop_back();
  return undo ? undo(tokens) : tokens;
}

}  // namespace veneer::nodes
