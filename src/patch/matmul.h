// The matrix product that patches need: small inner extents, large results.
#pragma once

#include <cstddef>

#include "tensor/tile.h"

namespace veneer::patch {

// c [m, n] = a [m, k] @ b [k, n], all row-major f32. Each element is summed over k in order with one rounding for each step of multiplication and
// addition, so the bits depend neither on the vectors' width nor on the number of threads; CPUs without fused multiply-add (before AVX2) round twice.
void matmul(const float* a, const float* b, float* c, size_t m, size_t k, size_t n);
// c += factor * (a @ b), with the bits of matmul, multiplication and addition one after the other. On the calling thread. c has the tile's extents;
// a [rows, k] and b [k, columns], whose rows are b_stride apart, begin where the tile does.
void add_product(const float* a, size_t k, const float* b, size_t b_stride, float factor, const Tile& tile, const TileValues& c);

}  // namespace veneer::patch
