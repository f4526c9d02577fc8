// Options of a variant that change its forward without changing a weight.
//
// Every function carries an id: two options are the same exactly when their ids are. Ids enter the variant's fingerprint.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "sampling/guidance_options.h"
#include "sampling/run_state.h"
#include "tensor/tensor.h"

namespace veneer::variant {

using sampling::CallState;
using sampling::RunState;

template <typename Signature>
struct Identified {
  Fingerprint id;
  std::function<Signature> fn;
};

// Where in the UNet a patch is called.
struct BlockPosition {
  std::string block;          // "input", "middle" or "output"
  int block_index = 0;        // number of the block within it
  int transformer_index = 0;  // running number of the transformer block within the block
  auto operator<=>(const BlockPosition&) const = default;
};

// What a patch may want to know of the running call.
struct PatchCall {
  BlockPosition position;
  int heads = 0;
  int head_dim = 0;
  int64_t height = 0, width = 0;                // of the activations at this place
  std::vector<int> cond_or_uncond;              // per chunk of the batch: 0 positive, 1 negative
  std::vector<float> sigmas;                    // one per batch row
  int64_t latent_height = 0, latent_width = 0;  // of the network's input
  // Functions are shared by runs, so what they have to remember is kept here: from one place of a forward to the next ...
  std::shared_ptr<CallState> state = std::make_shared<CallState>();
  // ... and from one evaluation of a run to the next; null outside of a run.
  RunState* run = nullptr;
};

// Tensors given to patches and returned by them are f32: tokens [B, T, C], or NHWC for block patches.
struct AttentionInputs {
  Tensor n, context, value;  // what to_q, to_k and to_v will see
};
struct QKV {
  Tensor q, k, v;  // [B, T, heads * head_dim]
};
struct BlockAndSkip {
  Tensor h, skip;
};

struct TransformerOptions {
  std::vector<Identified<AttentionInputs(const AttentionInputs&, const PatchCall&)>> attn1_patch;
  std::vector<Identified<AttentionInputs(const AttentionInputs&, const PatchCall&)>> attn2_patch;
  std::vector<Identified<Tensor(const Tensor& n, const PatchCall&)>> attn1_output_patch;
  std::vector<Identified<Tensor(const Tensor& n, const PatchCall&)>> attn2_output_patch;
  // Looked up by the full position first, then by (block, block_index) with transformer_index -1. Replaces the attention, not the projections.
  std::map<BlockPosition, Identified<Tensor(const QKV&, const PatchCall&)>> attn1_replace;
  std::map<BlockPosition, Identified<Tensor(const QKV&, const PatchCall&)>> attn2_replace;
  std::vector<Identified<Tensor(const Tensor& h, const PatchCall&)>> input_block_patch;             // before h is saved as the skip
  std::vector<Identified<Tensor(const Tensor& h, const PatchCall&)>> input_block_patch_after_skip;  // after
  std::vector<Identified<BlockAndSkip(const BlockAndSkip&, const PatchCall&)>> output_block_patch;  // before the concatenation
  std::vector<Identified<Tensor(const Tensor& x, const PatchCall&)>> middle_patch;  // after the self-attention residual, in every transformer block
  std::vector<Identified<Tensor(const Tensor& emb, const PatchCall&)>> emb_patch;   // [B, E], after time_embed

  bool empty() const;
};

struct ModelOptions {
  TransformerOptions transformer_options;
  // CFG function, pre and post CFG, calc_cond_batch, unet wrapper, denoise mask function.
  sampling::GuidanceOptions guidance;
};

// Adds the identity of everything in it.
void add_to_fingerprint(FingerprintBuilder& builder, const ModelOptions& options);

}  // namespace veneer::variant
