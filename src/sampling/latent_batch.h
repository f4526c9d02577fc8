// Batches of latents: taking rows out, repeating and joining them, with the noise mask and the noise numbers that belong to the rows.
#pragma once

#include <cstdint>

#include "sampling/latent.h"

namespace veneer::sampling {

// Rows [first, first + length), both cut to what is there: `first` beyond the end gives the last row. The rows remember their numbers in batch_index,
// so each makes the picture again that it made in the whole batch. Throws Error(invalid) for first < 0, length < 1 or no rows.
Latent latent_from_batch(const Latent& latent, int64_t first, int64_t length);

// The batch `times` times. Numbers in batch_index go on with new ones in each repetition. Throws Error(invalid) for times < 1.
Latent repeat_latent_batch(const Latent& latent, int64_t times);

// Rows of `a`, then rows of `b` resized to a's size (bilinear, center). The noise mask of `a` stays. Throws Error(invalid) for other channels.
Latent join_latents(const Latent& a, const Latent& b);

// With the noise mask [..., H, W] as [M, 1, H, W].
Latent set_noise_mask(const Latent& latent, const Tensor& mask);

}  // namespace veneer::sampling
