// Transposition of matrices of 32-bit units, written past the caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::compute {

// to[c * to_stride + r] = from[r * from_stride + c] for r below `rows`, a multiple of 16, and c below `columns`, a multiple of 4. A unit is a float
// or a pair of bf16. `to` is aligned to 64 bytes, to_stride a multiple of 16. On the calling thread, which calls
// hwy::FlushStream() after its last one, before other threads read.
void transpose_units(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride);

// Rows of floats, `from_stride` apart, as bf16 side by side: rounded to nearest even, the same bits on every target.
void narrow_rows(const float* from, size_t from_stride, size_t rows, size_t columns, uint16_t* to);

}  // namespace veneer::compute
