// The exact denoiser of data that are independent normals: every sampler's result is known.
#pragma once

#include <cmath>
#include <functional>

#include "sampling/denoiser.h"
#include "sampling/model_sampling.h"
#include "tensor/tensor.h"

namespace veneer::sampling::testing {

// E[x0 | x] for x0 ~ N(mean, deviation^2) per element, in the scaling of the model sampling. deviation 0: the mean whatever the input.
class GaussianDenoiser final : public Denoiser {
 public:
  GaussianDenoiser(const ModelSampling& model_sampling, float mean, float deviation)
      : model_sampling_(model_sampling), mean_(mean), deviation_(deviation) {}

  Tensor denoise(const Tensor& x, float sigma) override {
    ++calls;
    if (on_call) on_call(calls);
    const double alpha = model_sampling_.alpha(sigma);
    const double variance = static_cast<double>(deviation_) * deviation_;
    const double total = alpha * alpha * variance + static_cast<double>(sigma) * sigma;
    const double gain = total > 0 ? alpha * variance / total : 0.0;
    Tensor out = Tensor::empty(x.shape(), DType::f32);
    for (size_t i = 0; i < x.floats().size(); ++i) {
      out.mutable_floats()[i] = static_cast<float>(mean_ + gain * (static_cast<double>(x.floats()[i]) - alpha * mean_));
    }
    last_ = out;
    return out;
  }
  Tensor last_uncond() const override { return last_; }
  void require_uncond(bool on) override { uncond_required = on; }
  const ModelSampling& model_sampling() const override { return model_sampling_; }

  int calls = 0;
  bool uncond_required = false;
  std::function<void(int call)> on_call;

 private:
  const ModelSampling& model_sampling_;
  float mean_;
  float deviation_;
  Tensor last_;
};

}  // namespace veneer::sampling::testing
