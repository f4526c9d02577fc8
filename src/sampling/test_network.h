// Networks for tests whose predictions are known: no weights, no files.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "sampling/conditioning.h"
#include "sampling/network.h"

namespace veneer::sampling {

// What a network was called with.
struct NetworkLog {
  std::vector<NetworkInput> calls;
};

// An eps network whose clean latent is everywhere the first value of the row's context.
inline Network painter(NetworkLog* log = nullptr) {
  return [log](const NetworkInput& input) {
    if (log != nullptr) log->calls.push_back(input);
    Tensor out = Tensor::empty(input.x.shape(), DType::f32);
    const int64_t size = input.x.shape().num_elements_from(1);
    for (int64_t n = 0; n < input.x.dim(0); ++n) {
      const float sigma = input.sigmas[static_cast<size_t>(n)];
      const float colour = input.context.data<float>()[n * input.context.shape().num_elements_from(1)];
      for (int64_t i = n * size; i < (n + 1) * size; ++i) {
        const float x = input.x.data<float>()[i] * std::sqrt(sigma * sigma + 1);
        out.mutable_data<float>()[i] = (x - colour) / sigma;
      }
    }
    return out;
  };
}

// A prompt for the painter: [1, tokens, 2] filled with `colour`.
inline ConditioningEntry paint(float colour, int64_t tokens = 3) {
  ConditioningEntry entry;
  entry.context = Tensor::empty(Shape{1, tokens, 2}, DType::f32);
  std::ranges::fill(entry.context.mutable_floats(), colour);
  return entry;
}

inline Tensor filled(const Shape& shape, float value) {
  Tensor out = Tensor::empty(shape, DType::f32);
  std::ranges::fill(out.mutable_floats(), value);
  return out;
}

// 0, 1, 2, ...
inline Tensor counting(const Shape& shape) {
  Tensor out = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < out.num_elements(); ++i) out.mutable_data<float>()[i] = static_cast<float>(i);
  return out;
}

inline std::vector<float> values(const Tensor& tensor) { return {tensor.floats().begin(), tensor.floats().end()}; }

}  // namespace veneer::sampling
