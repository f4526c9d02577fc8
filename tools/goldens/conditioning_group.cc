// conditioning: runs with several prompts, areas, masks and times, and with hooks into guidance.
#include <algorithm>
#include <regex>
#include <string>

#include "conditioning_expression.h"
#include "golden_set.h"
#include "sample_case.h"
#include "sampling/sample.h"
#include "tiny_unet.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using sampling::GuidanceCall;
using sampling::GuidanceOptions;

template <typename F>
Tensor combined(const Tensor& a, const Tensor& b, F f) {
  Tensor out = Tensor::empty(a.shape(), DType::f32);
  std::ranges::transform(a.floats(), b.floats(), out.mutable_data<float>(), f);
  return out;
}

// The number in `note` that the pattern's group stands for.
float number_in(const std::string& note, const char* pattern) {
  std::smatch match;
  if (!std::regex_search(note, match, std::regex(pattern))) {
    throw Error(ErrorCode::unsupported, "goldens: the case's note is not understood", {{"note", note}});
  }
  return std::stof(match[1].str());
}

// The hooks of cases "options/...", whose notes give the formulas.
GuidanceOptions options_of(const Case& golden) {
  GuidanceOptions options;
  if (!golden.name().starts_with("options/")) return options;
  const std::string kind = golden.name().substr(golden.name().find('/') + 1);
  const auto note = golden.params().at("note").get<std::string>();
  options.disable_cfg1_optimization = note.find("disable_cfg1_optimization") != std::string::npos;
  if (kind == "cfg_function") {
    const float factor = number_in(note, R"(scale\*([0-9.]+))");
    options.cfg_function = {{}, [factor](const GuidanceCall& call) {
                              // On x - denoised, as the note says.
                              const Tensor cond = combined(call.x, call.predictions.cond, std::minus<float>());
                              const Tensor uncond = combined(call.x, call.predictions.uncond, std::minus<float>());
                              const float scale = static_cast<float>(call.scale) * factor;
                              const Tensor result = combined(cond, uncond, [scale](float c, float u) { return u + (c - u) * scale; });
                              return combined(call.x, result, std::minus<float>());
                            }};
  } else if (kind == "post_cfg") {
    const float guided = number_in(note, R"(([0-9.]+)\*denoised)");
    const float cond = number_in(note, R"(([0-9.]+)\*cond_denoised)");
    options.post_cfg.push_back({{}, [=](const GuidanceCall& call, const Tensor& denoised) {
                                  return combined(denoised, call.predictions.cond, [=](float d, float c) { return guided * d + cond * c; });
                                }});
  } else if (kind == "pre_cfg") {
    const float divisor = number_in(note, R"(\(uncond \+ cond\)/([0-9.]+))");
    options.pre_cfg.push_back(
        {{}, [divisor](const GuidanceCall& call) {
           const auto& [cond, uncond] = call.predictions;
           return sampling::Predictions{cond, combined(uncond, cond, [divisor](float u, float c) { return (u + c) / divisor; })};
         }});
  } else if (kind == "unet_wrapper") {
    const float factor = number_in(note, R"(input\*([0-9.]+))");
    options.unet_wrapper = {{}, [factor](const GuidanceOptions::Apply& apply, const sampling::DenoiseBatch& batch) {
                              sampling::DenoiseBatch scaled = batch;
                              scaled.x = combined(batch.x, batch.x, [factor](float v, float) { return v * factor; });
                              return apply(scaled);
                            }};
  } else {
    throw Error(ErrorCode::unsupported, "goldens: unknown guidance option", {{"kind", kind}});
  }
  return options;
}

}  // namespace

Runner make_conditioning_runner(const Group& group) {
  return [network = make_tiny_unet(group)](Case& golden) {
    const auto model_sampling = sampling::ModelSampling::discrete(sampling::Prediction::eps);
    sampling::SampleRequest request{.model_sampling = model_sampling, .network = network, .guidance = options_of(golden)};
    read_sample_params(golden, request);
    request.positive = parse_conditioning(golden, golden.params().at("positive").get<std::string>());
    request.negative = parse_conditioning(golden, golden.params().at("negative").get<std::string>());
    if (golden.has_output("conditioning")) golden.check("conditioning", request.positive.front().context);
    request.callback = [&](int step, int, const Tensor&, const Tensor& denoised) {
      if (step == 0 && golden.has_output("first_denoised")) golden.check("first_denoised", denoised);
    };
    check_sigmas(golden, request);
    golden.check("latent_out", sampling::sample(request));
  };
}

}  // namespace veneer::goldens
