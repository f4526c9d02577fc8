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

void require_predictions(const Predictions& predictions, const Shape& latent, const char* from) {
  require_shape(predictions.cond, latent, from);
  if (predictions.uncond.defined()) require_shape(predictions.uncond, latent, from);
}

}  // namespace

CfgDenoiser::CfgDenoiser(GuidanceSetup setup, const Conditioning& positive, const Conditioning& negative, const Shape& latent)
    : setup_(std::move(setup)), conds_(prepare_conds(positive, negative, latent, setup_.model_sampling)), latent_(latent) {
  run_.random = setup_.random;
  if (!std::isfinite(setup_.scale)) throw Error(ErrorCode::invalid, "sample: guidance scale is not finite");
  if (!setup_.network) throw Error(ErrorCode::invalid, "sample: network is missing");
  if (positive.empty()) throw Error(ErrorCode::invalid, "sample: positive conditioning is empty");
}

Tensor CfgDenoiser::apply(const DenoiseBatch& batch, const NetworkOverlay* overlay) {
  const ModelSampling& model_sampling = setup_.model_sampling;
  const GuidanceOptions::Apply plain = [&](const DenoiseBatch& in) {
    setup_.cancel.check();
    NetworkInput input{in, {}, setup_.run_sigmas, overlay, &run_};
    input.x = model_sampling.calculate_input(in.sigmas, in.x);
    for (const float sigma : in.sigmas) input.timesteps.push_back(model_sampling.timestep(sigma));
    const Tensor output = setup_.network(input);
    require_shape(output, in.x.shape(), "network");
    return model_sampling.calculate_denoised(in.sigmas, output, in.x);
  };
  return setup_.options.unet_wrapper ? setup_.options.unet_wrapper->fn(plain, batch) : plain(batch);
}

Tensor CfgDenoiser::evaluate_list(const std::vector<PreparedCond>& list, const Tensor& x, float sigma, const NetworkOverlay* overlay) {
  const std::array lists{&list};
  return evaluate_conds(lists, x, sigma, [&](const DenoiseBatch& batch) { return apply(batch, overlay); }).front();
}

Tensor CfgDenoiser::evaluate(const Evaluation& wanted, const Tensor& x, float sigma) {
  const Tensor& at = wanted.x.defined() ? wanted.x : x;
  require_shape(at, latent_, "guidance hook");
  std::vector<PreparedCond> others;
  if (wanted.prompts == Evaluation::Prompts::other && wanted.other != nullptr) {
    others = prepare_conds(*wanted.other, {}, latent_, setup_.model_sampling).positive;
  }
  const bool own = wanted.prompts != Evaluation::Prompts::other;
  const std::vector<PreparedCond>& list = !own ? others : wanted.prompts == Evaluation::Prompts::positive ? conds_.positive : conds_.negative;
  if (list.empty()) throw Error(ErrorCode::invalid, "sample: a guidance hook asks for prompts that are not there");
  return evaluate_list(list, at, sigma, wanted.overlay);
}

Predictions CfgDenoiser::predict(const Tensor& x, float sigma) {
  if (is_one(setup_.scale) && !require_uncond_ && !setup_.options.disable_cfg1_optimization) {
    return {evaluate_list(conds_.positive, x, sigma, nullptr), {}};
  }
  if (conds_.negative.empty()) throw Error(ErrorCode::invalid, "sample: negative conditioning is empty");
  const std::array lists{&conds_.positive, &conds_.negative};
  const auto both = evaluate_conds(lists, x, sigma, [&](const DenoiseBatch& batch) { return apply(batch, nullptr); });
  return {both[0], both[1]};
}

Predictions CfgDenoiser::predict_with_hook(const Tensor& x, float sigma) {
  if (!setup_.options.calc_cond_batch) return predict(x, sigma);
  const GuidanceOptions::PredictAt inner = [&](const Tensor& at, float at_sigma) {
    require_shape(at, latent_, "evaluation hook");
    return predict(at, at_sigma);
  };
  Predictions out = setup_.options.calc_cond_batch->fn(inner, x, sigma);
  require_predictions(out, latent_, "evaluation hook");
  return out;
}

Tensor CfgDenoiser::denoise(const Tensor& x, float sigma) {
  require_shape(x, latent_, "sampler");
  setup_.cancel.check();
  Predictions predictions = predict_with_hook(x, sigma);
  const std::function<Tensor(const Evaluation&)> at_call = [&](const Evaluation& wanted) { return evaluate(wanted, x, sigma); };
  const GuidanceCall call{x, sigma, setup_.scale, predictions, setup_.model_sampling, at_call, run_};
  for (const auto& hook : setup_.options.pre_cfg) {
    Predictions changed = hook.fn(call);
    require_predictions(changed, latent_, "pre-guidance hook");
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
