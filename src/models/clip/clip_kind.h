// What distinguishes one CLIP text encoder from another and cannot be read off the shapes of its weights.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "compute/weights.h"

namespace veneer::models {

struct ClipKind {
  // Weight keys begin with NAME.transformer. ; files of textual inversions for several encoders name their tensors so.
  std::string_view name;
  // What stands in files in place of "NAME.transformer.text_model.", the usual one first.
  std::span<const std::string_view> file_prefixes;
  int head_dim = 64;
  compute::Activation activation = compute::Activation::quick_gelu;
  float norm_eps = 1e-5F;

  int32_t start_token = 49406;
  int32_t end_token = 49407;
  int32_t pad_token = 49407;
  // Tokens of one chunk, start and end included.
  int chunk_length = 77;
  // Groups of fewer tokens are not split at the border of two chunks.
  int max_word_length = 8;

  // The layer whose state is the result, as clip skip counts them: -1 the last, -2 the one before; nullopt: the last, normed.
  std::optional<int> default_layer;
  // Whether a layer's state goes through the final norm.
  bool layer_norm_hidden_state = true;
  // Whether the pooled state goes through the text projection.
  bool project_pooled = false;
};

// CLIP ViT-L/14's text encoder as Stable Diffusion 1.x uses it. Narrower models of the same layout (width / 64 heads) are this kind too.
const ClipKind& sd1_clip_l();

}  // namespace veneer::models
