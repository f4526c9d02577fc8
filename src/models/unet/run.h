// State of one forward of the UNet, shared by its parts.
#pragma once

#include <string>

#include "models/unet/text_cache.h"
#include "models/unet/unet.h"

namespace veneer::models {

struct UnetRun {
  variant::ModelView& view;
  compute::Context& context;
  const variant::TransformerOptions& options;
  const Tensor& text_f32;           // [N, T, context_dim], as given
  Tensor text;                      // the same in the context's dtype
  Tensor emb;                       // SiLU of the timestep embedding, [N, 4 * model_channels]
  TextCache* text_cache = nullptr;  // of `text_f32`
  variant::PatchCall call;          // where the forward is; kept up to date for patches
};

// Residual block: GroupNorm SiLU conv, plus the embedding, GroupNorm SiLU conv, plus the input. x: [N, h, w, C].
Tensor run_res_block(UnetRun& run, const ResBlockIds& ids, Tensor x);

// Spatial transformer: norm, projection, transformer blocks over the h*w tokens, projection, plus the input. x: [N, h, w, C].
Tensor run_spatial_transformer(UnetRun& run, const SpatialTransformerIds& ids, const Tensor& x);

// A patch's result in the context's dtype. Throws Error(invalid) naming `kind` unless it is an f32 tensor of `want`'s rank whose extents equal those
// of `want` wherever `want` is not -1.
Tensor accept_patched(UnetRun& run, const Tensor& result, std::span<const int64_t> want, std::string_view kind);

}  // namespace veneer::models
