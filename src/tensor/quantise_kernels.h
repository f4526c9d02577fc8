// Vector loops for the quantisers of quantised_blocks.h, on the best instruction set of the machine.
#pragma once

#include <cstddef>

namespace veneer::kernels {

// Blocks of 32 values, each of which is finite, into blocks of 34 bytes: an f16 and 32 whole numbers, rounded half away from zero.
void quantise_q8_0(const float* in, size_t num_blocks, std::byte* out);

}  // namespace veneer::kernels
