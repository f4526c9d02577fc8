#include "sampling/guidance.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "veneer/error.h"

namespace veneer::sampling {
namespace {

bool is_one(double scale) { return std::abs(scale - 1.0) <= 1e-9 * std::max(std::abs(scale), 1.0); }

Tensor guided(const Predictions& predictions, double scale) {
  const float s = static_cast<float>(scale);
  Tensor out = Tensor::empty(predictions.cond.shape(), DType::f32);
  const auto cond = predictions.cond.floats();
  const auto to = out.mutable_floats();
  if (!predictions.uncond.defined()) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = cond[i] * s;
    return out;
  }
  const auto uncond = predictions.uncond.floats();
  for (size_t i = 0; i < to.size(); ++i) to[i] = uncond[i] + (cond[i] - uncond[i]) * s;
  return out;
}

void require_shape(const Tensor& tensor, const Shape& latent, const char* from) {
  if (tensor.defined() && tensor.shape() == latent && tensor.dtype() == DType::f32) return;
  throw Error(ErrorCode::invalid, "sample: tensor has another shape than the latent",
              {{"from", from}, {"want", latent.to_string()}, {"got", tensor.defined() ? tensor.shape().to_string() : "none"}});
}

}  // namespace

CfgDenoiser::CfgDenoiser(GuidanceSetup setup, const Conditioning& positive, const Conditioning& negative, const Shape& latent)
    : setup_(std::move(setup)), conds_(prepare_conds(positive, negative, latent, setup_.model_sampling)), latent_(latent) {
  if (!std::isfinite(setup_.scale)) throw Error(ErrorCode::invalid, "sample: guidance scale is not finite");
  if (!setup_.network) throw Error(ErrorCode::invalid, "sample: network is missing");
  if (positive.empty()) throw Error(ErrorCode::invalid, "sample: positive conditioning is empty");
}

Tensor CfgDenoiser::apply(const Network& network, const DenoiseBatch& batch) const {
  const ModelSampling& model_sampling = setup_.model_sampling;
  const GuidanceOptions::Apply plain = [&](const DenoiseBatch& in) {
    setup_.cancel.check();
    NetworkInput input{in, {}};
    input.x = model_sampling.calculate_input(in.sigmas, in.x);
    for (const float sigma : in.sigmas) input.timesteps.push_back(model_sampling.timestep(sigma));
    const Tensor output = network(input);
    require_shape(output, in.x.shape(), "network");
    return model_sampling.calculate_denoised(in.sigmas, output, in.x);
  };
  return setup_.options.unet_wrapper ? setup_.options.unet_wrapper->fn(plain, batch) : plain(batch);
}

Tensor CfgDenoiser::evaluate_cond(const Network& network, const Tensor& x, float sigma) const {
  const std::array lists{&conds_.positive};
  return evaluate_conds(lists, x, sigma, [&](const DenoiseBatch& batch) { return apply(network, batch); }).front();
}

Predictions CfgDenoiser::predict(const Tensor& x, float sigma) const {
  if (is_one(setup_.scale) && !require_uncond_ && !setup_.options.disable_cfg1_optimization) return {evaluate_cond(setup_.network, x, sigma), {}};
  if (conds_.negative.empty()) throw Error(ErrorCode::invalid, "sample: negative conditioning is empty");
  const std::array lists{&conds_.positive, &conds_.negative};
  const auto both = evaluate_conds(lists, x, sigma, [&](const DenoiseBatch& batch) { return apply(setup_.network, batch); });
  return {both[0], both[1]};
}

Tensor CfgDenoiser::denoise(const Tensor& x, float sigma) {
  require_shape(x, latent_, "sampler");
  setup_.cancel.check();
  Predictions predictions = predict(x, sigma);
  const std::function<Tensor(const Network&)> evaluate = [&](const Network& network) { return evaluate_cond(network, x, sigma); };
  const GuidanceCall call{x, sigma, setup_.scale, predictions, setup_.model_sampling, evaluate};
  for (const auto& hook : setup_.options.pre_cfg) {
    Predictions changed = hook.fn(call);
    require_shape(changed.cond, latent_, "pre-guidance hook");
    if (changed.uncond.defined()) require_shape(changed.uncond, latent_, "pre-guidance hook");
    predictions = std::move(changed);
  }
  last_uncond_ = predictions.uncond;
  Tensor out = setup_.options.cfg_function ? setup_.options.cfg_function->fn(call) : guided(predictions, setup_.scale);
  require_shape(out, latent_, "guidance hook");
  for (const auto& hook : setup_.options.post_cfg) {
    out = hook.fn(call, out);
    require_shape(out, latent_, "post-guidance hook");
  }
  return out;
}

}  // namespace veneer::sampling
