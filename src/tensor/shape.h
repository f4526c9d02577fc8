// The extents of a tensor, row-major, slowest dimension first. A value without heap memory; at most kMaxRank dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace veneer {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;  // rank 0: a scalar, one element
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  // Throws Error(invalid) for a negative extent or more than kMaxRank dimensions, Error(corrupt) if the element count overflows.
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int dim_index) const { return dims_[static_cast<size_t>(dim_index)]; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  // Product of all extents; 1 for a scalar.
  int64_t num_elements() const { return num_elements_; }
  // Product of the extents [first, rank).
  int64_t num_elements_from(int first) const;
  // A copy with one extent replaced.
  Shape with(int dim_index, int64_t extent) const;
  // "[1, 4, 64, 64]"
  std::string to_string() const;

  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
  int64_t num_elements_ = 1;
};

}  // namespace veneer
