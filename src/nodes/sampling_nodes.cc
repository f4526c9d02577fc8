#include <string>

#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/sampling_request.h"
#include "nodes/values.h"
#include "sampling/sample.h"
#include "sampling/sampler.h"
#include "sampling/schedules.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;

template <typename Defs>
std::vector<std::string> names_of(const Defs& defs) {
  std::vector<std::string> names;
  for (const auto& def : defs) names.emplace_back(def.name);
  return names;
}

InputDef sampler_input() {
  return InputDef::choice("sampler_name", names_of(sampling::all_samplers()))
      .tip("The algorithm used when sampling, this can affect the quality, speed, and style of the generated output.");
}
InputDef scheduler_input() {
  return InputDef::choice("scheduler", names_of(sampling::all_schedules()))
      .tip("The scheduler controls how noise is gradually removed to form the image.");
}
InputDef steps_input() { return InputDef::integer("steps", 20, 1, 10000).tip("The number of steps used in the denoising process."); }
InputDef cfg_input() {
  return InputDef::number("cfg", 8.0, 0.0, 100.0, 0.1, 0.01)
      .tip(
          "The Classifier-Free Guidance scale balances creativity and adherence to the prompt. Higher values result in images more closely matching "
          "the "
          "prompt however too high values will negatively impact quality.");
}
InputDef positive_input() {
  return InputDef::socket("positive", "CONDITIONING").tip("The conditioning describing the attributes you want to include in the image.");
}
InputDef negative_input() {
  return InputDef::socket("negative", "CONDITIONING").tip("The conditioning describing the attributes you want to exclude from the image.");
}
InputDef latent_input() { return InputDef::socket("latent_image", "LATENT").tip("The latent image to denoise."); }
InputDef model_input() { return InputDef::socket("model", "MODEL").tip("The model used for denoising the input latent."); }

// The parts of a request that both nodes read alike.
sampling::SampleRequest make_request(NodeContext& node, const Inputs& in, const char* seed_name) {
  sampling::SampleRequest request = sampling_request(node, in.get<ModelValue>("model"));
  request.positive = in.get<sampling::Conditioning>("positive");
  request.negative = in.get<sampling::Conditioning>("negative");
  request.latent = in.get<sampling::Latent>("latent_image");
  request.sampler = in.text("sampler_name");
  request.scheduler = in.text("scheduler");
  request.steps = static_cast<int>(in.integer("steps"));
  request.cfg = in.number("cfg");
  request.seed = in.unsigned_integer(seed_name);
  return request;
}

NodeResult run(const sampling::SampleRequest& request, const ModelValue& model) {
  sampling::Latent out = request.latent;
  out.samples = sample_finite(request, model);
  return {Value::of("LATENT", std::move(out))};
}

NodeDef ksampler() {
  InputDef seed = InputDef::seed("seed").tip("The random seed used for creating the noise.");
  InputDef denoise =
      InputDef::number("denoise", 1.0, 0.0, 1.0, 0.01)
          .tip(
              "The amount of denoising applied, lower values will maintain the structure of the initial image allowing for image to image sampling.");
  NodeDef node = make_node({"KSampler", "KSampler", "sampling"},
                           {model_input(), std::move(seed), steps_input(), cfg_input(), sampler_input(), scheduler_input(), positive_input(),
                            negative_input(), latent_input(), std::move(denoise)},
                           {"LATENT"}, [](NodeContext& context, const Inputs& in) {
                             sampling::SampleRequest request = make_request(context, in, "seed");
                             request.denoise = in.number("denoise");
                             return run(request, in.get<ModelValue>("model"));
                           });
  node.outputs[0].tooltip = "The denoised latent.";
  node.description = "Uses the provided model, positive and negative conditioning to denoise the latent image.";
  return node;
}

NodeDef ksampler_advanced() {
  return make_node(
      {"KSamplerAdvanced", "KSampler (Advanced)", "sampling"},
      {InputDef::socket("model", "MODEL"), InputDef::choice("add_noise", {"enable", "disable"}), InputDef::seed("noise_seed"),
       InputDef::integer("steps", 20, 1, 10000), InputDef::number("cfg", 8.0, 0.0, 100.0, 0.1, 0.01),
       InputDef::choice("sampler_name", names_of(sampling::all_samplers())), InputDef::choice("scheduler", names_of(sampling::all_schedules())),
       InputDef::socket("positive", "CONDITIONING"), InputDef::socket("negative", "CONDITIONING"), InputDef::socket("latent_image", "LATENT"),
       InputDef::integer("start_at_step", 0, 0, 10000), InputDef::integer("end_at_step", 10000, 0, 10000),
       InputDef::choice("return_with_leftover_noise", {"disable", "enable"})},
      {"LATENT"}, [](NodeContext& context, const Inputs& in) {
        sampling::SampleRequest request = make_request(context, in, "noise_seed");
        request.start_step = static_cast<int>(in.integer("start_at_step"));
        request.last_step = static_cast<int>(in.integer("end_at_step"));
        request.force_full_denoise = in.text("return_with_leftover_noise") != "enable";
        request.disable_noise = in.text("add_noise") == "disable";
        return run(request, in.get<ModelValue>("model"));
      });
}

}  // namespace

std::vector<NodeDef> sampling_nodes() { return {ksampler(), ksampler_advanced()}; }

}  // namespace veneer::nodes
