// The best product of two thin matrices for a given one.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace veneer::nodes {

struct LowRankPair {
  Tensor up;    // [m, r]
  Tensor down;  // [r, n]
};

// up @ down ~ matrix ([m, n] f32, m and n > 0) with r = min(rank, m, n): the truncated singular value decomposition, the square roots of the singular
// values in both factors, so that neither loses small values in a half type. Where r is small against m and n, by randomised subspace iteration
// (Halko, Martinsson, Tropp 2011, arXiv:0909.4061, algorithm 4.4) in double: exact up to rounding for a matrix of rank r, and within a percent of the
// best error otherwise. The same bits on every call, whatever the number of threads. Memory beside the matrix: O((m + n) r), O(m n) for large r.
// Throws Error(invalid) for a rank below 1, another shape or dtype, and values that are not finite.
LowRankPair low_rank_pair(const Tensor& matrix, int64_t rank);

}  // namespace veneer::nodes
