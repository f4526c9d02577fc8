// How the elements of a packed weight lie: an outer strided array of small dense blocks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace veneer::compute {

// Element (x0, x1, ...) lies at the sum of strides[d] * (x_d / block of d) plus its place inside of the block, which counts through `inner` with the
// last entry fastest. Strides are in elements. Extents are filled up with zeros to `padded`.
struct BlockedLayout {
  static constexpr int kMaxRank = 4;
  struct Block {
    int axis = 0;
    int64_t extent = 1;
  };
  int rank = 0;
  std::array<int64_t, kMaxRank> extents{}, padded{}, strides{};
  std::vector<Block> inner;  // an axis may come more than once

  // Elements of one block along an axis.
  int64_t block_extent(int axis) const {
    int64_t extent = 1;
    for (const Block& block : inner) extent *= block.axis == axis ? block.extent : 1;
    return extent;
  }
};

}  // namespace veneer::compute
