#include "nodes/save_model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "formats/atomic_file.h"
#include "graph/json_text.h"
#include "nodes/output_place.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

[[noreturn]] void refuse_part(const char* input, const char* text, const std::string& want, const std::string& got) {
  throw Error(ErrorCode::invalid, text, {{"input", input}, {"want", want}, {"got", got}});
}

void check_parts(const models::FamilyDef& family, const ClipValue* clip, const VaeValue* vae) {
  if (clip != nullptr && clip->patcher.model()->architecture() != family.clip().name) {
    refuse_part("clip", "save: the text encoder is not of the model's family", std::string(family.clip().name),
                clip->patcher.model()->architecture());
  }
  if (vae != nullptr && vae->network->config().latent_channels != family.latent_channels) {
    refuse_part("vae", "save: the autoencoder's latents are not those of the model", std::to_string(family.latent_channels) + " channels",
                std::to_string(vae->network->config().latent_channels) + " channels");
  }
}

void append(Tensors& to, Tensors from) { std::move(from.begin(), from.end(), std::back_inserter(to)); }

// Large elements first, so that each tensor is aligned for its dtype in the file.
void align(Tensors& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return size_of(a.dtype) > size_of(b.dtype); });
}

void report_progress(Tensors& tensors, const std::function<void(size_t, size_t)>& progress) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].make = [make = std::move(tensors[i].make), progress, i, total = tensors.size()] {
      progress(i, total);
      return make();
    };
  }
}

}  // namespace

Tensors weights_of(const variant::ModelPatcher& model, const models::NamePrefixes& names) {
  const auto shared = std::make_shared<const variant::ModelPatcher>(model);
  Tensors out;
  for (const auto& [key, weight] : model.model()->weights()) {
    out.push_back({models::name_in_file(names, key), weight.plain_dtype(), model.description().patched_shape(key),
                   [shared, key = key] { return shared->patch_weight_to_device(key); }});
  }
  if (out.empty()) throw Error(ErrorCode::invalid, "save: the model holds no weights", {{"architecture", model.model()->architecture()}});
  return out;
}

Tensors checkpoint_tensors(const ModelValue& model, const ClipValue* clip, const VaeValue* vae) {
  const std::string& architecture = model.patcher.model()->architecture();
  const models::FamilyDef* family = models::family_of_unet(architecture);
  if (family == nullptr) {
    throw Error(ErrorCode::unsupported, "save: no layout is known for the model", {{"input", "model"}, {"architecture", architecture}});
  }
  check_parts(*family, clip, vae);
  Tensors out = weights_of(model.patcher, models::unet_in_checkpoint(*family));
  if (clip != nullptr) append(out, weights_of(clip->patcher, models::clip_in_checkpoint(*family)));
  if (vae != nullptr) append(out, weights_of(vae->patcher, models::vae_in_checkpoint(*family)));
  return out;
}

Metadata model_spec(const ModelValue& model, const std::string& title) {
  const models::FamilyDef* family = models::family_of_unet(model.patcher.model()->architecture());
  if (family == nullptr) return {};
  return {{"modelspec.sai_model_spec", "1.0.0"},
          {"modelspec.implementation", "sgm"},
          {"modelspec.architecture", std::string(family->modelspec_architecture)},
          {"modelspec.title", title},
          {"modelspec.predict_key", family->prediction == "v_prediction" ? "v" : "epsilon"}};
}

void add_recipe(Metadata& metadata, const graph::Json& prompt, const graph::Json& extra_pnginfo) {
  if (!prompt.is_null()) metadata["prompt"] = graph::dump_json(prompt);
  if (!extra_pnginfo.is_object()) return;
  for (const auto& [key, value] : extra_pnginfo.items()) metadata[key] = graph::dump_json(value);
}

std::filesystem::path save_model_file(ModelFileRequest request) {
  const OutputPlace place = output_place(request.folder, expand_prefix(request.filename_prefix, 0, 0));
  int64_t counter = next_counter(place.directory, place.stem);
  const auto path = [&] { return place.directory / numbered_name(place.stem, counter, ".safetensors"); };
  align(request.tensors);
  if (request.progress) report_progress(request.tensors, request.progress);
  formats::AtomicFile file = formats::AtomicFile::create(path());
  formats::write_safetensors(file, request.tensors, request.metadata ? request.metadata(place.stem, counter) : Metadata());
  // Another writer may have taken the number in the meantime.
  while (!file.commit_new(path())) ++counter;
  return path();
}

}  // namespace veneer::nodes
