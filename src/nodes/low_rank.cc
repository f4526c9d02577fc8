#include "nodes/low_rank.h"

// Loops run on Veneer's own threads.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

using Matrix = Eigen::MatrixXd;
using Index = Eigen::Index;
// The matrix as it lies in memory.
using Source = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// Columns that the search looks at beyond the wanted rank, and rounds that sharpen it. With three rounds, directions whose singular values are half
// of the wanted ones are damped by 2^7.
constexpr Index kOversampling = 16;
constexpr int kRounds = 3;
// Rows or columns of the matrix that are turned into double at a time.
constexpr Index kBlock = 256;

template <typename Body>
void for_blocks(Index size, Body body) {
  const Index blocks = (size + kBlock - 1) / kBlock;
  parallel_for(static_cast<size_t>(blocks), 1, [&](size_t begin, size_t end) {
    for (auto block = static_cast<Index>(begin); block < static_cast<Index>(end); ++block) {
      body(block * kBlock, std::min(kBlock, size - block * kBlock));
    }
  });
}

// a @ x
Matrix times(const Source& a, const Matrix& x) {
  Matrix out(a.rows(), x.cols());
  for_blocks(a.rows(), [&](Index first, Index count) {
    const Matrix block = a.middleRows(first, count).cast<double>();
    out.middleRows(first, count).noalias() = block * x;
  });
  return out;
}

// a^T @ x
Matrix transposed_times(const Source& a, const Matrix& x) {
  Matrix out(a.cols(), x.cols());
  for_blocks(a.cols(), [&](Index first, Index count) {
    const Matrix block = a.middleCols(first, count).cast<double>();
    out.middleRows(first, count).noalias() = block.transpose() * x;
  });
  return out;
}

// An orthonormal basis of the columns' span (of more than that where they are dependent).
Matrix orthonormal(const Matrix& columns) {
  const Eigen::HouseholderQR<Matrix> qr(columns);
  return qr.householderQ() * Matrix::Identity(columns.rows(), columns.cols());
}

// Signs that look random and are the same everywhere.
Matrix random_signs(Index rows, Index columns) {
  uint64_t state = 0x9e3779b97f4a7c15ULL;
  Matrix out(rows, columns);
  for (Index i = 0; i < out.size(); ++i) {  // xorshift64 (Marsaglia 2003)
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out.data()[i] = (state >> 63) != 0 ? 1.0 : -1.0;
  }
  return out;
}

struct Decomposition {
  Matrix left, right;  // columns: singular vectors
  Eigen::VectorXd values;
};

Decomposition decompose(const Matrix& matrix) {
  const Eigen::BDCSVD<Matrix> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {svd.matrixU(), svd.matrixV(), svd.singularValues()};
}

// a ~ basis @ basis^T @ a, and the right factor is small enough to be decomposed.
Decomposition search(const Source& a, Index width) {
  Matrix basis = orthonormal(times(a, random_signs(a.cols(), width)));
  for (int round = 0; round < kRounds; ++round) basis = orthonormal(times(a, orthonormal(transposed_times(a, basis))));
  const Matrix projected = transposed_times(a, basis);  // [n, width]
  const Eigen::HouseholderQR<Matrix> qr(projected);
  const Matrix q = qr.householderQ() * Matrix::Identity(projected.rows(), projected.cols());
  const Matrix r = qr.matrixQR().topRows(width).triangularView<Eigen::Upper>();
  // a ~ basis (q r)^T = basis r^T q^T
  const Decomposition small = decompose(r);
  return {basis * small.right, q * small.left, small.values};
}

Tensor rows_of(const Matrix& matrix) {
  Tensor out = Tensor::empty({matrix.rows(), matrix.cols()}, DType::f32);
  Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(out.mutable_data<float>(), matrix.rows(), matrix.cols()) =
      matrix.cast<float>();
  return out;
}

void check(const Tensor& matrix, int64_t rank) {
  if (matrix.rank() != 2 || matrix.dtype() != DType::f32 || matrix.num_elements() == 0) {
    throw Error(ErrorCode::invalid, "low rank: not a matrix of floats", {{"got", matrix.shape().to_string()}});
  }
  if (rank < 1) throw Error(ErrorCode::invalid, "low rank: the rank has to be positive", {{"rank", std::to_string(rank)}});
  const auto values = matrix.floats();
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    throw Error(ErrorCode::invalid, "low rank: the matrix has values that are not finite");
  }
}

}  // namespace

LowRankPair low_rank_pair(const Tensor& matrix, int64_t rank) {
  check(matrix, rank);
  const Source a(matrix.data<float>(), matrix.dim(0), matrix.dim(1));
  const Index smaller = std::min(a.rows(), a.cols()), r = std::min<Index>(rank, smaller);
  const Index width = r + kOversampling;
  // From half of the rank on the search costs more than it saves.
  const Decomposition found = 2 * width >= smaller ? decompose(a.cast<double>()) : search(a, width);
  const Eigen::VectorXd root = found.values.head(r).cwiseSqrt();
  return {rows_of(found.left.leftCols(r) * root.asDiagonal()), rows_of((found.right.leftCols(r) * root.asDiagonal()).transpose())};
}

}  // namespace veneer::nodes
