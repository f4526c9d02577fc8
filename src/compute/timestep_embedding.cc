#include <cmath>

#include "compute/check.h"
#include "compute/op_span.h"
#include "compute/ops.h"

namespace veneer::compute {

// Ho et al., "Denoising Diffusion Probabilistic Models" (2020), after the positional encoding of Vaswani et al. (2017). The frequencies are
// computed in f32, as the networks saw them in training.
Tensor timestep_embedding(Context& context, std::span<const float> timesteps, int dim, float max_period) {
  check_that(dim >= 2, "timestep_embedding", "the dimension is below 2", {dim});
  const ProfileSpan span = op_span(context, "timestep_embedding", [&] {
    return ProfileWork{Shape({static_cast<int64_t>(timesteps.size()), dim}).to_string(), to_string(context.dtype), 0, 0};
  });
  const int half = dim / 2;
  Tensor y = Tensor::zeros({static_cast<int64_t>(timesteps.size()), dim}, DType::f32, context.scratch);
  for (int i = 0; i < half; ++i) {
    const float frequency = std::exp(-std::log(max_period) * static_cast<float>(i) / static_cast<float>(half));
    for (size_t t = 0; t < timesteps.size(); ++t) {
      float* row = y.mutable_data<float>() + t * static_cast<size_t>(dim);
      row[i] = std::cos(timesteps[t] * frequency);
      row[half + i] = std::sin(timesteps[t] * frequency);
    }
  }
  return to_compute(context, y);
}

}  // namespace veneer::compute
