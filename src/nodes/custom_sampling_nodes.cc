// Sampling taken apart: guiders, noise, samplers and noise levels as values of their own.
#include <utility>

#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/options/perp_neg_guidance.h"
#include "nodes/require_finite.h"
#include "nodes/sampling_request.h"
#include "nodes/values.h"
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
using sampling::Conditioning;

constexpr const char* kModule = "comfy_extras.nodes_custom_sampler";

InputDef socket(const char* name, const char* type) { return InputDef::socket(name, type); }
InputDef cfg_input() { return InputDef::number("cfg", 8.0, 0.0, 100.0, 0.1, 0.01); }

NodeDef of_module(NodeDef node, const char* module = kModule) {
  node.module = module;
  return node;
}

template <typename Defs>
std::vector<std::string> names_of(const Defs& defs) {
  std::vector<std::string> names;
  for (const auto& def : defs) names.emplace_back(def.name);
  return names;
}

// A guider as the model itself guides.
GuiderValue guider_of(const Inputs& in, const char* positive, double cfg) {
  const ModelValue& model = in.get<ModelValue>("model");
  return {.model = model, .guidance = model.patcher.model_options().guidance, .positive = in.get<Conditioning>(positive), .negative = {}, .cfg = cfg};
}

NodeDef basic_guider() {
  return of_module(make_node({"BasicGuider", "BasicGuider", "sampling/custom_sampling/guiders"},
                             {socket("model", "MODEL"), socket("conditioning", "CONDITIONING")}, {"GUIDER"},
                             [](NodeContext&, const Inputs& in) { return NodeResult{Value::of("GUIDER", guider_of(in, "conditioning", 1))}; }));
}

NodeDef cfg_guider() {
  return of_module(make_node({"CFGGuider", "CFGGuider", "sampling/custom_sampling/guiders"},
                             {socket("model", "MODEL"), socket("positive", "CONDITIONING"), socket("negative", "CONDITIONING"), cfg_input()},
                             {"GUIDER"}, [](NodeContext&, const Inputs& in) {
                               GuiderValue guider = guider_of(in, "positive", in.number("cfg"));
                               guider.negative = in.get<Conditioning>("negative");
                               return NodeResult{Value::of("GUIDER", std::move(guider))};
                             }));
}

NodeDef perp_neg_guider() {
  NodeDef node = of_module(
      make_node({"PerpNegGuider", "", "_for_testing"},
                {socket("model", "MODEL"), socket("positive", "CONDITIONING"), socket("negative", "CONDITIONING"),
                 socket("empty_conditioning", "CONDITIONING"), cfg_input(), InputDef::number("neg_scale", 1.0, 0.0, 100.0, 0.01)},
                {"GUIDER"},
                [](NodeContext&, const Inputs& in) {
                  GuiderValue guider = guider_of(in, "positive", in.number("cfg"));
                  guider.negative = in.get<Conditioning>("negative");
                  const patch::PatchCompat compat = guider.model.patcher.runtime().compat;
                  // In the place of the model's own guidance function; what it has behind guidance stays.
                  guider.guidance.cfg_function = perp_neg_guidance(in.get<Conditioning>("empty_conditioning"), in.number("neg_scale"), compat);
                  guider.guidance.disable_cfg1_optimization = true;
                  return NodeResult{Value::of("GUIDER", std::move(guider))};
                }),
      "comfy_extras.nodes_perpneg");
  node.newer_schema = true;
  node.experimental = true;
  return node;
}

NodeDef random_noise() {
  return of_module(make_node(
      {"RandomNoise", "RandomNoise", "sampling/custom_sampling/noise"}, {InputDef::seed("noise_seed")}, {"NOISE"},
      [](NodeContext&, const Inputs& in) { return NodeResult{Value::of("NOISE", NoiseValue{.seed = in.unsigned_integer("noise_seed")})}; }));
}

NodeDef disable_noise() {
  return of_module(make_node({"DisableNoise", "DisableNoise", "sampling/custom_sampling/noise"}, {}, {"NOISE"},
                             [](NodeContext&, const Inputs&) { return NodeResult{Value::of("NOISE", NoiseValue{.none = true})}; }));
}

NodeDef ksampler_select() {
  return of_module(make_node({"KSamplerSelect", "KSamplerSelect", "sampling/custom_sampling/samplers"},
                             {InputDef::choice("sampler_name", names_of(sampling::all_samplers()))}, {"SAMPLER"},
                             [](NodeContext&, const Inputs& in) { return NodeResult{Value::of("SAMPLER", SamplerValue{in.text("sampler_name")})}; }));
}

NodeDef basic_scheduler() {
  return of_module(make_node({"BasicScheduler", "BasicScheduler", "sampling/custom_sampling/schedulers"},
                             {socket("model", "MODEL"), InputDef::choice("scheduler", names_of(sampling::all_schedules())),
                              InputDef::integer("steps", 20, 1, 10000), InputDef::number("denoise", 1.0, 0.0, 1.0, 0.01)},
                             {"SIGMAS"}, [](NodeContext&, const Inputs& in) {
                               const auto model_sampling =
                                   in.get<ModelValue>("model").patcher.get_model_object<sampling::ModelSampling>(kModelSampling);
                               return NodeResult{Value::of(
                                   "SIGMAS", SigmasValue{sampling::make_sigmas(*model_sampling, in.text("scheduler"),
                                                                               static_cast<int>(in.integer("steps")), in.number("denoise"), false)})};
                             }));
}

// The latent at the end of the run, and what the last step predicted.
NodeResult sample(NodeContext& node, const Inputs& in, const GuiderValue& guider, const NoiseValue& noise) {
  const auto& latent = in.get<sampling::Latent>("latent_image");
  const std::vector<float>& sigmas = in.get<SigmasValue>("sigmas").sigmas;
  if (sigmas.empty()) return {in.value("latent_image"), in.value("latent_image")};
  sampling::SampleRequest request = sampling_request(node, guider.model);
  request.guidance = guider.guidance;
  request.positive = guider.positive;
  request.negative = guider.negative;
  request.cfg = guider.cfg;
  request.latent = latent;
  request.sampler = in.get<SamplerValue>("sampler").name;
  request.sigmas = sigmas;
  request.seed = noise.seed;
  request.disable_noise = noise.none;
  Tensor predicted;
  request.callback = [&predicted, tell = std::move(request.callback)](int step, int total, const Tensor& x, const Tensor& denoised) {
    predicted = denoised;
    tell(step, total, x, denoised);
  };
  sampling::Latent out = latent, denoised = latent;
  out.samples = sample_finite(request, guider.model);
  denoised.samples = predicted.defined() ? require_finite(sampling::unscaled_latent(predicted, request.scaling), "latent") : out.samples;
  return {Value::of("LATENT", std::move(out)), Value::of("LATENT", std::move(denoised))};
}

void name_latents(NodeDef& node) {
  node.outputs[0].name = "output";
  node.outputs[1].name = "denoised_output";
}

NodeDef sampler_custom_advanced() {
  NodeDef node = of_module(make_node({"SamplerCustomAdvanced", "SamplerCustomAdvanced", "sampling/custom_sampling"},
                                     {socket("noise", "NOISE"), socket("guider", "GUIDER"), socket("sampler", "SAMPLER"), socket("sigmas", "SIGMAS"),
                                      socket("latent_image", "LATENT")},
                                     {"LATENT", "LATENT"}, [](NodeContext& context, const Inputs& in) {
                                       return sample(context, in, in.get<GuiderValue>("guider"), in.get<NoiseValue>("noise"));
                                     }));
  name_latents(node);
  return node;
}

NodeDef sampler_custom() {
  NodeDef node = of_module(make_node(
      {"SamplerCustom", "SamplerCustom", "sampling/custom_sampling"},
      {socket("model", "MODEL"), InputDef::boolean("add_noise", true), InputDef::seed("noise_seed"), cfg_input(), socket("positive", "CONDITIONING"),
       socket("negative", "CONDITIONING"), socket("sampler", "SAMPLER"), socket("sigmas", "SIGMAS"), socket("latent_image", "LATENT")},
      {"LATENT", "LATENT"}, [](NodeContext& context, const Inputs& in) {
        GuiderValue guider = guider_of(in, "positive", in.number("cfg"));
        guider.negative = in.get<Conditioning>("negative");
        return sample(context, in, guider, NoiseValue{.seed = in.unsigned_integer("noise_seed"), .none = !in.boolean("add_noise")});
      }));
  name_latents(node);
  return node;
}

}  // namespace

std::vector<NodeDef> custom_sampling_nodes() {
  return {basic_guider(),    cfg_guider(),      perp_neg_guider(),         random_noise(),  disable_noise(),
          ksampler_select(), basic_scheduler(), sampler_custom_advanced(), sampler_custom()};
}

}  // namespace veneer::nodes
