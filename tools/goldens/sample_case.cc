#include "sample_case.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace veneer::goldens {
namespace {

int step_of(const nlohmann::json& params, const char* key) {
  const auto found = params.find(key);
  return found == params.end() || found->is_null() ? -1 : found->get<int>();
}

}  // namespace

void read_sample_params(const Case& golden, sampling::SampleRequest& request) {
  const auto& params = golden.params();
  request.sampler = params.at("sampler").get<std::string>();
  request.scheduler = params.at("scheduler").get<std::string>();
  request.steps = params.at("steps").get<int>();
  request.cfg = params.at("cfg").get<double>();
  request.seed = params.at("seed").get<uint64_t>();
  request.denoise = params.value("denoise", 1.0);
  request.start_step = step_of(params, "start_step");
  request.last_step = step_of(params, "last_step");
  request.force_full_denoise = params.value("force_full_denoise", false);
  request.disable_noise = params.value("disable_noise", false);
  request.latent.samples = golden.input("latent");
  if (golden.has_input("noise")) request.noise = golden.input("noise");
  if (golden.has_input("noise_mask")) request.latent.noise_mask = golden.input("noise_mask");
}

void check_sigmas(Case& golden, const sampling::SampleRequest& request) {
  if (!golden.params().contains("sigmas")) return;
  const auto want = golden.params().at("sigmas").get<std::vector<float>>();
  const std::vector<float> got = sampling::sample_sigmas(request);
  const auto near = [](float a, float b) { return std::abs(a - b) <= 1e-5F * std::max(std::abs(a), 1.0F); };
  golden.require(std::ranges::equal(got, want, near), "sigmas: " + std::to_string(got.size()) + " of them, not those of params.sigmas");
}

}  // namespace veneer::goldens
