// Arithmetic on pictures that the pack's nodes share.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "veneer/plugin.h"

namespace testing_pack {

namespace vp = veneer::plugin;

inline std::vector<int64_t> shape_of(const vp::TensorView& tensor) { return {tensor.shape().begin(), tensor.shape().end()}; }

// All of one level.
inline vp::NewTensor filled(const vp::Call& call, std::string_view type, const std::vector<int64_t>& shape, float level) {
  vp::NewTensor made = call.tensor(type, shape);
  std::ranges::fill(made.floats, level);
  return made;
}

// A picture of 512 x 512 pixels.
inline vp::NewTensor large_picture(const vp::Call& call, double level) { return filled(call, "IMAGE", {1, 512, 512, 3}, static_cast<float>(level)); }

inline void require_equal_shapes(const vp::TensorView& a, const vp::TensorView& b) {
  if (!std::ranges::equal(a.shape(), b.shape())) throw std::runtime_error("the pictures differ in size");
}

// `change` of every value.
template <typename Change>
vp::NewTensor changed(const vp::Call& call, const vp::TensorView& from, Change change) {
  vp::NewTensor made = call.tensor("IMAGE", shape_of(from));
  std::ranges::transform(from.floats(), made.floats.begin(), change);
  return made;
}

}  // namespace testing_pack
