// CLIP's text transformer (Radford et al. 2021): tokens and positions embedded, pre-norm blocks of causal self-attention and a two-layer perceptron.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "compute/context.h"
#include "models/architecture.h"
#include "models/clip/clip_config.h"
#include "models/clip/prompt_tokenizer.h"
#include "tensor/tensor.h"
#include "variant/model_view.h"

namespace veneer::models {

struct EncodeOptions {
  // Whose state to return: -1 the last layer, -2 the one before it, ...; 0, 1, ... count from the front. nullopt, and a layer that does not exist:
  // the last layer's state through the final norm.
  std::optional<int> layer;
  // Whether a chosen layer's state goes through the final norm.
  bool layer_norm_hidden_state = true;
  // Checked between layers; null: never.
  const CancelToken* cancel = nullptr;
  // Called with the state after each layer, [chunks, tokens, width] in the context's dtype, a few chunks at a time.
  std::function<void(int layer, const Tensor& state)> observe = {};

  static EncodeOptions of(const ClipKind& kind) { return {.layer = kind.default_layer, .layer_norm_hidden_state = kind.layer_norm_hidden_state}; }
};

struct EncodedPrompt {
  Tensor hidden;  // [1, chunks * chunk_length, width] f32
  Tensor pooled;  // [1, width] f32
  std::vector<std::string> warnings;
};

// Immutable; one object may serve several threads at once, each with its own view and context.
class ClipTextModel {
 public:
  explicit ClipTextModel(ClipConfig config);

  const ClipConfig& config() const { return config_; }
  // Modules and weights that a base model of this encoder has to have.
  const Architecture& architecture() const { return architecture_; }

  // The prompt's states, chunks joined along the tokens. A token of weight w != 1 gets (state - empty) * w + empty, where `empty` is the state of the
  // empty prompt at its place; nothing is renormalised. `pooled` is the last layer's normed state at the first end token of the first chunk, whatever
  // layer was chosen and unweighted (through the text projection if the kind says so).
  // An embedding's vector takes a token embedding's place. Vectors of another width are left out with a warning; what follows moves up, and padding
  // fills the chunk. Throws Error(invalid) for a prompt without chunks, chunks of other than chunk_length tokens, and a token id that the table
  // lacks.
  EncodedPrompt encode(variant::ModelView& view, compute::Context& context, const TokenizedPrompt& prompt, const EncodeOptions& options) const;

  // Rows of the token table as f32, [ids, width]. Throws Error(invalid) for an id that the table lacks.
  Tensor token_embeddings(variant::ModelView& view, std::span<const int32_t> ids) const;

 private:
  struct LayerIds {
    variant::ModuleId norm1 = 0, q = 0, k = 0, v = 0, out = 0, norm2 = 0, fc1 = 0, fc2 = 0;
  };
  struct Run;

  Tensor run_layer(Run& run, const LayerIds& ids, const Tensor& x) const;
  Tensor final_norm(Run& run, const Tensor& x) const;
  Tensor pool(Run& run, const Tensor& normed, const std::vector<PromptToken>& chunk) const;
  void encode_batch(Run& run, size_t first, size_t count) const;

  ClipConfig config_;
  Architecture architecture_;
  variant::ModuleId tokens_ = 0, positions_ = 0, final_norm_ = 0;
  std::optional<variant::ModuleId> projection_;
  std::vector<LayerIds> layers_;
};

}  // namespace veneer::models
