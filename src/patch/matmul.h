// The matrix product that patches need: small inner extents, large results.
#pragma once

#include <cstddef>

namespace veneer::patch {

// c [m, n] = a [m, k] @ b [k, n], all row-major f32. Each element is summed over k in order with one rounding for each step of multiplication and
// addition, so the bits depend neither on the vectors' width nor on the number of threads; CPUs without fused multiply-add (before AVX2) round twice.
void matmul(const float* a, const float* b, float* c, size_t m, size_t k, size_t n);
// c += factor * (a @ b), with the bits of matmul, multiplication and addition one after the other. On the calling thread.
void add_product(const float* a, const float* b, float factor, float* c, size_t m, size_t k, size_t n);

}  // namespace veneer::patch
