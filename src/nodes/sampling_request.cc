#include "nodes/sampling_request.h"

#include <set>
#include <string>
#include <utility>

#include "nodes/latent_preview.h"
#include "nodes/require_finite.h"
#include "nodes/run_network.h"
#include "nodes/services.h"

namespace veneer::nodes {
namespace {

// Tells the node's progress, and the profile the step: from the end of the one before, so that what the sampler does between two evaluations counts.
sampling::StepCallback step_callback(graph::NodeContext& node) {
  const bool previews = node.environment().find<LatentPreviews>() != nullptr;
  Profile* profile = node.environment().get<ComputeSettings>().profile.get();
  return [&node, previews, profile, begin = profile == nullptr ? 0 : profile->now_ns()](int step, int total, const Tensor&,
                                                                                        const Tensor& denoised) mutable {
    {
      const ProfileSpan span(profile, ProfileKind::preview, previews ? "preview and progress" : "progress");
      node.progress(step + 1, total, previews ? preview_latent(denoised) : std::nullopt);
    }
    if (profile != nullptr) begin = profile->add_until_now(ProfileKind::step, "step", std::to_string(step + 1), begin);
  };
}

// Of every adapter on the model, once each.
std::string adapter_files(const variant::ModelPatcher& patcher) {
  std::set<std::string> files;
  for (const auto& [key, records] : patcher.patches()) {
    for (const patch::PatchRecord& record : *records) {
      if (record.value->origin() != nullptr) files.insert(record.value->origin()->file);
    }
  }
  std::string out;
  for (const std::string& file : files) out += (out.empty() ? "" : ", ") + file;
  return out;
}

}  // namespace

sampling::SampleRequest sampling_request(graph::NodeContext& node, const ModelValue& model) {
  // The patcher keeps the object for longer than the run.
  sampling::SampleRequest request{.model_sampling = *model.patcher.get_model_object<sampling::ModelSampling>(kModelSampling),
                                  .network = make_network(model, node.environment().get<ComputeSettings>(), node.cancel(),
                                                          [&node](const std::string& remark) { node.progress_text(remark); })};
  request.guidance = model.patcher.model_options().guidance;
  request.scaling = model.latent_scaling;
  request.cancel = node.cancel();
  request.callback = step_callback(node);
  return request;
}

Tensor sample_finite(const sampling::SampleRequest& request, const ModelValue& model) {
  Tensor samples = sampling::sample(request);
  try {
    return require_finite(std::move(samples), "latent");
  } catch (const Error& error) {
    const std::string files = adapter_files(model.patcher);
    throw files.empty() ? error : error.with("adapters", files);
  }
}

}  // namespace veneer::nodes
