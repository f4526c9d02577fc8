#include "formats/model_contents.h"

#include <array>
#include <cstring>

namespace veneer::formats {

Tensor materialise(const StoredTensor& tensor) {
  const Shape& shape = tensor.layout->shape;
  Tensor out = Tensor::empty(shape, tensor.stored.dtype());
  const size_t size = size_of(out.dtype());
  std::array<int64_t, Shape::kMaxRank> index{};
  const std::byte* from = tensor.stored.bytes();
  std::byte* to = out.mutable_bytes();
  int64_t place = 0;
  for (int64_t i = 0; i < shape.num_elements(); ++i, to += size) {
    std::memcpy(to, from + static_cast<size_t>(place) * size, size);
    for (int dim = shape.rank() - 1; dim >= 0; --dim) {
      const auto d = static_cast<size_t>(dim);
      place += tensor.layout->strides[d];
      if (++index[d] < shape[dim]) break;
      place -= tensor.layout->strides[d] * shape[dim];
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace veneer::formats
