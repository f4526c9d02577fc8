// Models of real shapes with made-up weights: for benchmarks and tests that need the size and not the pictures.
#pragma once

#include <cstdint>

#include "models/architecture.h"
#include "models/family/checkpoint.h"

namespace veneer::models {

// Weights for every module of an architecture, in `dtype` (f32, f16 or bf16): uniform with variance 1 / inputs, so that activations keep their size;
// norms are the identity, biases 0. The same seed gives the same values. Costs about as much as copying that many bytes.
WeightMap random_weights(const Architecture& architecture, DType dtype, uint64_t seed);

// All tensors of a whole SD 1.5 checkpoint under the names of such a file (2.1 GB in f16).
WeightMap random_sd15_tensors(DType dtype, uint64_t seed);

// SD 1.5's UNet, text encoder and autoencoder, ready to run.
LoadedCheckpoint random_sd15(DType dtype, uint64_t seed);

}  // namespace veneer::models
