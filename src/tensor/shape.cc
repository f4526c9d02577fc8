#include "tensor/shape.h"

#include <algorithm>

#include "veneer/error.h"

namespace veneer {

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    throw Error(ErrorCode::invalid, "shape has too many dimensions", {{"rank", std::to_string(dims.size())}, {"most", std::to_string(kMaxRank)}});
  }
  rank_ = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), dims_.begin());
  for (const int64_t extent : dims) {
    if (extent < 0) throw Error(ErrorCode::invalid, "shape has a negative extent", {{"extent", std::to_string(extent)}});
    if (__builtin_mul_overflow(num_elements_, extent, &num_elements_)) {
      throw Error(ErrorCode::corrupt, "shape's element count overflows", {{"shape", to_string()}});
    }
  }
}

int64_t Shape::num_elements_from(int first) const {
  int64_t product = 1;
  for (int i = first; i < rank_; ++i) product *= (*this)[i];
  return product;
}

Shape Shape::with(int dim_index, int64_t extent) const {
  std::array<int64_t, kMaxRank> dims = dims_;
  dims[static_cast<size_t>(dim_index)] = extent;
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank_)));
}

std::string Shape::to_string() const {
  std::string out = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) out += ", ";
    out += std::to_string((*this)[i]);
  }
  return out + "]";
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(dims(), other.dims()); }

}  // namespace veneer
