// What the sampling groups' parameters say about the model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sampling/model_sampling.h"

namespace veneer::goldens {

// `kind`: "eps", "v_prediction", "v_prediction_zsnr", "lcm" (distilled on 50 timesteps), "x0" or "flow"; `zsnr` and `shift` beside it in `params`.
inline sampling::ModelSampling model_sampling_of(const std::string& kind, const nlohmann::json& params) {
  using sampling::ModelSampling;
  using sampling::Prediction;
  const bool zsnr = params.value("zsnr", false) || kind.ends_with("_zsnr");
  const std::string name = kind.ends_with("_zsnr") ? kind.substr(0, kind.size() - 5) : kind;
  if (name == "flow") return ModelSampling::flow(params.value("shift", 1.0), params.value("multiplier", 1000.0));
  const Prediction prediction = sampling::prediction_from_string(name);
  if (prediction == Prediction::lcm) return ModelSampling::distilled(prediction, 50, {}, zsnr);
  return ModelSampling::discrete(prediction, {}, zsnr);
}

}  // namespace veneer::goldens
