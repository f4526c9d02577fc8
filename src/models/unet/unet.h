// The denoising UNet of Stable Diffusion: noise prediction from a noised latent, a timestep and the text's hidden states.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fingerprint.h"
#include "compute/context.h"
#include "models/unet/structure.h"
#include "tensor/tensor.h"
#include "variant/model_view.h"

namespace veneer::models {

class TextCache;

// Signals of ControlNets, [N, C, h, w] f32. The LAST entry of each list belongs to the block that runs first; missing entries (a shorter list, an
// undefined tensor) add nothing. `output` entries are added to the skip of that output block.
struct ControlSignals {
  std::vector<Tensor> input, middle, output;
};

// What a call may carry besides x, timesteps and context.
struct UnetCallExtras {
  const ControlSignals* control = nullptr;
  // For the patches: per chunk of the batch 0 positive, 1 negative; sigma per batch row.
  std::vector<int> cond_or_uncond;
  std::vector<float> sigmas;
  variant::RunState* run = nullptr;
  // Instead of the view's transformer options; null for these.
  const variant::TransformerOptions* options = nullptr;
  // Keeps what the text gives from one call to the next; null: nothing. `weights` tells what the view's modules compute, and is to differ wherever
  // that does.
  TextCache* text_cache = nullptr;
  Fingerprint weights;
  // Vector conditioning [N, adm_channels] f32; required exactly when the model has a label embedding.
  Tensor y;
  // Called before each block; may throw (Error(cancelled)) to end the call.
  std::function<void()> checkpoint;
  // Called with the result of each block, [N, h, w, C] in the context's dtype, before control signals and block patches: "block_input_0", ...,
  // "block_middle_0", "block_output_0", ...
  std::function<void(const std::string& name, const Tensor& nhwc)> observe;
};

// Immutable; one object may serve several threads at once, each with its own view and context.
class Unet {
 public:
  explicit Unet(UnetConfig config) : config_(std::move(config)), structure_(build_unet_structure(config_)) {}

  const UnetConfig& config() const { return config_; }
  // Modules and weights that a base model of this network has to have.
  const Architecture& architecture() const { return structure_.architecture; }

  // x: [N, in_channels, h, w] f32, already scaled for the network; timesteps: one per row of the batch; context: [N, T, context_dim] f32.
  // Returns [N, out_channels, h, w] f32. Any h and w of at least 1. Runs the patches of the view's transformer options; these see f32 tensors.
  // Throws Error(invalid) naming what does not fit, among it patches and control signals that give tensors of the wrong shape.
  Tensor forward(variant::ModelView& view, compute::Context& context, const Tensor& x, std::span<const float> timesteps, const Tensor& text,
                 const UnetCallExtras& extras = {}) const;

 private:
  UnetConfig config_;
  UnetStructure structure_;
};

}  // namespace veneer::models
