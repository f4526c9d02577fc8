#include "sampling/sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "sampling/guidance.h"
#include "sampling/inpaint_denoiser.h"
#include "sampling/mask_ops.h"
#include "sampling/nchw.h"
#include "sampling/noise.h"
#include "sampling/schedules.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

// An empty latent stands for "nothing yet", not for a picture of the VAE's zero.
Tensor scaled_latent(const Tensor& samples, const LatentScaling& scaling) {
  if (std::ranges::all_of(samples.floats(), [](float v) { return v == 0.0F; })) return samples;
  Tensor out = Tensor::empty(samples.shape(), DType::f32);
  const float scale = static_cast<float>(scaling.scale);
  const float shift = static_cast<float>(scaling.shift);
  std::ranges::transform(samples.floats(), out.mutable_data<float>(), [=](float v) { return (v - shift) * scale; });
  return out;
}

Tensor starting_noise(const SampleRequest& request, const Shape& shape, TorchGenerator& generator) {
  if (request.disable_noise) return Tensor::zeros(shape, DType::f32);
  if (!request.noise.defined()) return prepare_noise(shape, generator, request.latent.batch_index);
  Tensor noise = require_f32(request.noise, 4, "noise");
  if (noise.shape() != shape) {
    throw Error(ErrorCode::invalid, "sample: noise and latent differ in shape",
                {{"noise", noise.shape().to_string()}, {"latent", shape.to_string()}});
  }
  return noise;
}

// The latent's samples, once everything that a run takes from the request by shape and value is known to be usable.
Tensor require_samples(const SampleRequest& request) {
  Tensor samples = require_f32(request.latent.samples, 4, "latent");
  if (samples.num_elements() == 0) throw Error(ErrorCode::invalid, "sample: latent is empty", {{"shape", samples.shape().to_string()}});
  const size_t rows = static_cast<size_t>(samples.dim(0));
  if (!request.latent.batch_index.empty() && request.latent.batch_index.size() != rows) {
    throw Error(ErrorCode::invalid, "sample: noise numbers and latent rows differ in count",
                {{"batch_index", std::to_string(request.latent.batch_index.size())}, {"rows", std::to_string(rows)}});
  }
  const Tensor& mask = request.latent.noise_mask;
  if (mask.defined() && !std::ranges::all_of(mask_as_batch(mask).floats(), [](float v) { return std::isfinite(v); })) {
    throw Error(ErrorCode::invalid, "sample: noise mask holds values that are not finite");
  }
  if (!std::isfinite(request.scaling.scale) || request.scaling.scale == 0.0 || !std::isfinite(request.scaling.shift)) {
    throw Error(ErrorCode::invalid, "sample: latent scaling is no number to divide by");
  }
  return samples;
}

}  // namespace

Tensor unscaled_latent(const Tensor& latent, const LatentScaling& scaling) {
  Tensor out = Tensor::empty(latent.shape(), DType::f32);
  const float scale = static_cast<float>(scaling.scale);
  const float shift = static_cast<float>(scaling.shift);
  std::ranges::transform(latent.floats(), out.mutable_data<float>(), [=](float v) { return v / scale + shift; });
  return out;
}

std::vector<float> sample_sigmas(const SampleRequest& request) {
  std::vector<float> sigmas = request.sigmas;
  if (sigmas.empty()) {
    const bool discard = find_sampler(request.sampler).discard_penultimate;
    sigmas = make_sigmas(request.model_sampling, request.scheduler, request.steps, request.denoise, discard);
  }
  return cut_sigmas(std::move(sigmas), request.start_step, request.last_step, request.force_full_denoise);
}

Tensor sample(const SampleRequest& request) {
  const SamplerDef& sampler = find_sampler(request.sampler);
  Tensor samples = require_samples(request);
  const std::vector<float> sigmas = sample_sigmas(request);
  if (sigmas.empty()) return samples;

  const ModelSampling& model_sampling = request.model_sampling;
  TorchGenerator random(request.seed);
  const Tensor noise = starting_noise(request, samples.shape(), random);
  Tensor fresh_noise;
  if (sampler.fresh_inpaint_noise) {
    random.manual_seed(request.seed + 1);
    fresh_noise = prepare_noise(samples.shape(), random);
  }
  const Tensor latent = scaled_latent(samples, request.scaling);
  GuidanceSetup setup{model_sampling, request.network, request.guidance, request.cfg, request.cancel, sigmas, random};
  CfgDenoiser guidance(std::move(setup), request.positive, request.negative, samples.shape());

  std::optional<InpaintDenoiser> inpaint;
  if (request.latent.noise_mask.defined()) {
    InpaintKeep keep{reshape_mask(request.latent.noise_mask, samples.shape()), latent, noise};
    if (fresh_noise.defined()) keep.noise = fresh_noise;
    InpaintDenoiser::MaskAt mask_at;
    if (const auto& hook = request.guidance.denoise_mask_function) {
      mask_at = [&](const Tensor& mask, float sigma) { return hook->fn(mask, sigma, sigmas); };
    }
    inpaint.emplace(guidance, std::move(keep), std::move(mask_at));
  }

  const std::array first{sigmas.front()};
  const std::array last{sigmas.back()};
  SamplerRun run{inpaint ? static_cast<Denoiser&>(*inpaint) : guidance,
                 model_sampling.noise_scaling(first, noise, latent, model_sampling.is_max_denoise(sigmas.front())),
                 sigmas,
                 request.seed,
                 request.step_noise,
                 request.callback};
  const Tensor result = run_sampler(sampler, std::move(run));
  return unscaled_latent(model_sampling.inverse_noise_scaling(last, result), request.scaling);
}

}  // namespace veneer::sampling
