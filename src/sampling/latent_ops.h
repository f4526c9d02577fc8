// Operations on latents that keep their meaning: geometry, mixing and pasting. Positions and sizes are in elements of the latent (pixels / 8 for most
// models); the nodes convert. Samples are [N, C, h, w]; noise masks and noise numbers of the first latent stay as they are.
#pragma once

#include <cstdint>
#include <string_view>

#include "sampling/latent.h"
#include "sampling/nchw.h"
#include "sampling/resample.h"

namespace veneer::sampling {

Latent resize_latent(const Latent& latent, int64_t width, int64_t height, ResampleMethod method, Crop crop);
// To round(extent * factor). Throws Error(invalid) unless factor is finite and > 0.
Latent scale_latent(const Latent& latent, double factor, ResampleMethod method);

// The part at (x, y). A position too near to the end is moved back so far that 8 elements are left (or all there are); what still reaches over the
// border is cut off. Throws Error(invalid) for negative numbers or an empty size.
Latent crop_latent(const Latent& latent, const Box& box);

// Clockwise by quarter turns (0..3).
Latent rotate_latent(const Latent& latent, int quarter_turns);
enum class FlipAxis : uint8_t { x, y };  // x: upside down, y: left to right
Latent flip_latent(const Latent& latent, FlipAxis axis);

// first * factor + second * (1 - factor); the second is resized (bicubic, center) when it is of another size.
Latent blend_latents(const Latent& first, const Latent& second, float factor);
// Sum and difference; the second is resized (bilinear, center) and its batch repeated or cut to fit.
Latent add_latents(const Latent& first, const Latent& second);
Latent subtract_latents(const Latent& first, const Latent& second);
Latent multiply_latent(const Latent& latent, float factor);
// Mixes direction and length of each position's channel vector on their own: `ratio` of the first. Fitted as add_latents does.
Latent interpolate_latents(const Latent& first, const Latent& second, float ratio);

}  // namespace veneer::sampling
