// The matrix product that patches need: small inner extents, large results.
#pragma once

#include <cstddef>

namespace veneer::patch {

// c [m, n] = a [m, k] @ b [k, n], all row-major f32. Each element is summed over k in order with a rounding after every step, so the bits depend
// neither on the machine's vector width nor on the number of threads.
void matmul(const float* a, const float* b, float* c, size_t m, size_t k, size_t n);

}  // namespace veneer::patch
