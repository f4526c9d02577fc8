// Model sampling: tables of sigmas, timesteps, and the arithmetic around the network.
#include <algorithm>
#include <cmath>
#include <string>

#include "golden_set.h"
#include "sampling_params.h"
#include "tensor/convert.h"

namespace veneer::goldens {
namespace {

using sampling::ModelSampling;

Tensor tensor_of(std::span<const float> values) { return Tensor::from(Shape{static_cast<int64_t>(values.size())}, values); }

template <typename Fn>
Tensor map(const Tensor& in, const Fn& fn) {
  Tensor out = to_dtype(in, DType::f32).clone();
  for (float& value : out.mutable_floats()) value = fn(value);
  return out;
}

void require_near(Case& golden, const std::string& what, double got, double want) {
  const Tolerance limit = golden.tolerance("");
  const bool ok = std::abs(got - want) <= limit.atol + limit.rtol * std::abs(want);
  golden.require(ok, what + ": got " + std::to_string(got) + ", expected " + std::to_string(want));
}

void check_arithmetic(Case& golden, const ModelSampling& model_sampling) {
  const Tensor sigma_tensor = to_dtype(golden.input("sigma"), DType::f32);
  const auto sigma = sigma_tensor.floats();
  const Tensor x = golden.input("x");
  const Tensor noise = golden.input("noise");
  const Tensor latent = golden.input("latent");
  golden.check("calculate_input", model_sampling.calculate_input(sigma, x));
  golden.check("calculate_denoised", model_sampling.calculate_denoised(sigma, golden.input("model_output"), x));
  golden.check("noise_scaling", model_sampling.noise_scaling(sigma, noise, latent, false));
  golden.check("noise_scaling_max", model_sampling.noise_scaling(sigma, noise, latent, true));
  golden.check("inverse_noise_scaling", model_sampling.inverse_noise_scaling(sigma, latent));
}

void run_case(Case& golden) {
  const auto& params = golden.params();
  const ModelSampling model_sampling = model_sampling_of(params.at("kind").get<std::string>(), params);
  if (golden.has_output("sigmas")) golden.check("sigmas", tensor_of(model_sampling.sigmas()));
  if (golden.has_output("log_sigmas")) golden.check("log_sigmas", tensor_of(model_sampling.log_sigmas()));
  if (golden.has_output("timestep")) {
    const Tensor got = map(golden.input("sigma"), [&](float s) { return model_sampling.timestep(s); });
    golden.check("timestep", got);
  }
  if (golden.has_output("sigma")) golden.check("sigma", map(golden.input("timestep"), [&](float t) { return model_sampling.sigma(t); }));
  if (golden.has_output("calculate_input")) check_arithmetic(golden, model_sampling);

  const auto& expect = golden.expect();
  if (expect.is_null()) return;
  if (expect.contains("sigma_min")) require_near(golden, "sigma_min", model_sampling.sigma_min(), expect.at("sigma_min").get<double>());
  if (expect.contains("sigma_max")) require_near(golden, "sigma_max", model_sampling.sigma_max(), expect.at("sigma_max").get<double>());
  if (!expect.contains("sigma")) return;
  const auto percents = params.at("percents").get<std::vector<double>>();
  const auto wanted = expect.at("sigma").get<std::vector<double>>();
  golden.require(percents.size() == wanted.size(), "as many sigmas as percents");
  for (size_t i = 0; i < std::min(percents.size(), wanted.size()); ++i) {
    require_near(golden, "percent " + std::to_string(percents[i]), model_sampling.percent_to_sigma(percents[i]), wanted[i]);
  }
}

}  // namespace

Runner make_model_sampling_runner(const Group& /*group*/) { return run_case; }

}  // namespace veneer::goldens
