// Schedules: the sigmas of a run, as the KSampler node makes and cuts them.
#include <string>

#include "golden_set.h"
#include "sampling/sampler.h"
#include "sampling/schedules.h"
#include "sampling_params.h"

namespace veneer::goldens {
namespace {

int step_of(const nlohmann::json& params, const char* key) {
  if (!params.contains(key) || params.at(key).is_null()) return -1;
  return params.at(key).get<int>();
}

void run_case(Case& golden) {
  const auto& params = golden.params();
  const auto model_sampling = model_sampling_of(params.at("kind").get<std::string>(), params);
  const bool discard = sampling::find_sampler(params.value("sampler", "euler")).discard_penultimate;
  std::vector<float> sigmas = sampling::make_sigmas(model_sampling, params.at("scheduler").get<std::string>(), params.at("steps").get<int>(),
                                                    params.value("denoise", 1.0), discard);
  sigmas =
      sampling::cut_sigmas(std::move(sigmas), step_of(params, "start_step"), step_of(params, "last_step"), params.value("force_full_denoise", false));
  if (!golden.expect().is_null() && golden.expect().contains("length")) {
    golden.require(sigmas.size() == golden.expect().at("length").get<size_t>(), "length " + std::to_string(sigmas.size()));
  }
  // The reference's NaN cases: the length counts, values are not to be compared.
  if (!params.value("finite", true)) return golden.mark_checked("sigmas");
  golden.check("sigmas", Tensor::from(Shape{static_cast<int64_t>(sigmas.size())}, sigmas));
}

}  // namespace

Runner make_schedulers_runner(const Group& /*group*/) { return run_case; }

}  // namespace veneer::goldens
