// The workflow behind a text-to-image request: what a user would have drawn in the editor.
#include <nlohmann/json.hpp>

#include "veneer/engine.h"

namespace veneer {
namespace {

using Json = nlohmann::ordered_json;

class WorkflowBuilder {
 public:
  // Returns the new node's id.
  std::string add(const char* class_type, Json inputs) {
    std::string id = std::to_string(next_++);
    workflow_[id] = {{"class_type", class_type}, {"inputs", std::move(inputs)}};
    return id;
  }
  std::string dump() const { return workflow_.dump(2, ' ', false, Json::error_handler_t::replace); }

 private:
  Json workflow_ = Json::object();
  int next_ = 1;
};

Json link(const std::string& node, int slot) { return Json::array({node, slot}); }

}  // namespace

std::string text_to_image_workflow(const TextToImage& request) {
  WorkflowBuilder builder;
  const std::string checkpoint = builder.add("CheckpointLoaderSimple", {{"ckpt_name", request.model}});
  Json model = link(checkpoint, 0);
  Json clip = link(checkpoint, 1);
  for (const auto& [name, strength] : request.loras) {
    const std::string lora =
        builder.add("LoraLoader", {{"model", model}, {"clip", clip}, {"lora_name", name}, {"strength_model", strength}, {"strength_clip", strength}});
    model = link(lora, 0);
    clip = link(lora, 1);
  }
  if (request.clip_skip > 1) clip = link(builder.add("CLIPSetLastLayer", {{"clip", clip}, {"stop_at_clip_layer", -request.clip_skip}}), 0);
  const std::string positive = builder.add("CLIPTextEncode", {{"text", request.prompt}, {"clip", clip}});
  const std::string negative = builder.add("CLIPTextEncode", {{"text", request.negative}, {"clip", clip}});
  const std::string latent = builder.add("EmptyLatentImage", {{"width", request.width}, {"height", request.height}, {"batch_size", request.batch}});
  const std::string samples = builder.add("KSampler", {{"model", model},
                                                       {"seed", request.seed},
                                                       {"steps", request.steps},
                                                       {"cfg", request.cfg},
                                                       {"sampler_name", request.sampler},
                                                       {"scheduler", request.scheduler},
                                                       {"positive", link(positive, 0)},
                                                       {"negative", link(negative, 0)},
                                                       {"latent_image", link(latent, 0)},
                                                       {"denoise", 1.0}});
  const std::string image = builder.add("VAEDecode", {{"samples", link(samples, 0)}, {"vae", link(checkpoint, 2)}});
  builder.add("SaveImage", {{"images", link(image, 0)}, {"filename_prefix", request.filename_prefix}});
  return builder.dump();
}

}  // namespace veneer
