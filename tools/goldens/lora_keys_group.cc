// Group "lora_keys": how names in adapter files map to weights, and what loading a file matches, uses and leaves.
#include <algorithm>
#include <memory>

#include "golden_set.h"
#include "patch/adapter_file.h"
#include "patch/key_map.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using nlohmann::json;
using patch::PatchCompat;

constexpr std::string_view kUnetPrefix = "diffusion_model.";

// The two tiny models' weight keys and shapes, under the names that patches use.
struct Models {
  std::vector<std::string> unet_keys, clip_keys;
  std::map<std::string, Shape, std::less<>> shapes;
  patch::UnetLayout layout;
};

void add_keys(std::vector<std::string>& keys, Models& models, const formats::ModelFile& file, std::string_view from, std::string_view to) {
  for (const auto& entry : file.entries()) {
    if (!entry.name.starts_with(from)) continue;
    keys.push_back(std::string(to) + entry.name.substr(from.size()));
    models.shapes[keys.back()] = entry.shape;
  }
}

// Weights that the text model has even when a checkpoint does not store them.
void add_implied_clip_keys(Models& models) {
  const int64_t width = models.shapes.at("clip_l.transformer.text_model.final_layer_norm.weight")[0];
  const std::pair<const char*, Shape> implied[] = {{"text_projection.weight", {width, width}},
                                                   {"text_model.embeddings.token_embedding.weight", {49408, width}},
                                                   {"text_model.embeddings.position_embedding.weight", {77, width}}};
  for (const auto& [name, shape] : implied) {
    const std::string key = std::string("clip_l.transformer.") + name;
    if (models.shapes.contains(key)) continue;
    models.clip_keys.push_back(key);
    models.shapes[key] = shape;
  }
}

Models open_models(const Group& group) {
  Models models;
  add_keys(models.unet_keys, models, group.model("unet"), "model.diffusion_model.", kUnetPrefix);
  add_keys(models.clip_keys, models, group.model("clip"), "cond_stage_model.transformer.", "clip_l.transformer.");
  add_implied_clip_keys(models);
  const json config = group.model_config("unet").at("config");
  models.layout.num_res_blocks = config.at("num_res_blocks").get<std::vector<int>>();
  models.layout.transformer_depth = config.at("transformer_depth").get<std::vector<int>>();
  models.layout.transformer_depth_middle = config.at("transformer_depth_middle");
  models.layout.transformer_depth_output = config.at("transformer_depth_output").get<std::vector<int>>();
  return models;
}

void check_map(Case& c, const patch::KeyMap& map) {
  const json& want = c.expect().at("map");
  c.require(map.entries().size() == want.size(), "entries: " + std::to_string(map.entries().size()) + ", want " + std::to_string(want.size()));
  for (const auto& [name, key] : want.items()) {
    const std::string* got = map.find(name);
    c.require(got != nullptr && *got == key.get<std::string>(), name + ": " + (got != nullptr ? *got : "missing"));
  }
  for (const auto& [name, key] : map.entries()) c.require(want.contains(name), "not wanted: " + name);
}

patch::AdapterTensors tensors_of(const json& file_keys) {
  patch::AdapterTensors tensors;
  for (const auto& [name, shape] : file_keys.items()) {
    if (shape.is_array()) {
      const auto dims = shape.get<std::vector<int64_t>>();
      tensors[name] = Tensor::zeros(Shape(std::span<const int64_t>(dims)), DType::f32);
    } else {
      const float value = shape;
      tensors[name] = Tensor::from(Shape(), std::span<const float>(&value, 1));
    }
  }
  return tensors;
}

json records_json(const patch::AdapterReport& report, bool unet, double strength) {
  json out = json::object();
  for (const auto& [key, value] : report.patches) {
    if (key.starts_with(kUnetPrefix) != unet) continue;
    out[key] = json::array({{{"type", value->kind()}, {"strength", strength}, {"strength_model", 1.0}, {"offset", nullptr}}});
  }
  return out;
}

void check_report(Case& c, const patch::AdapterReport& report, double strength_model, double strength_clip) {
  const json& expect = c.expect();
  const json model = records_json(report, true, strength_model), clip = records_json(report, false, strength_clip);
  c.require(model == expect.at("model_patches"), "model patches: " + model.dump());
  if (expect.contains("clip_patches")) c.require(clip == expect.at("clip_patches"), "clip patches: " + clip.dump());
  if (!expect.contains("warnings")) return;
  std::vector<std::string> got, want = expect.at("warnings").get<std::vector<std::string>>();
  for (const std::string& key : report.unused_keys) got.push_back("lora key not loaded: " + key);
  for (const std::string& key : report.missing_keys) got.push_back("NOT LOADED " + key);
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  c.require(got == want, "warnings: " + json(got).dump());
}

// A kohya pair for one weight of the UNet.
patch::AdapterTensors pair_for(const std::string& key, const Shape& shape) {
  std::string layer = key.substr(kUnetPrefix.size(), key.rfind(".weight") - kUnetPrefix.size());
  std::replace(layer.begin(), layer.end(), '.', '_');
  patch::AdapterTensors tensors;
  tensors["lora_unet_" + layer + ".lora_up.weight"] = Tensor::zeros({shape[0], 1}, DType::f32);
  tensors["lora_unet_" + layer + ".lora_down.weight"] = Tensor::zeros({1, shape.num_elements_from(1)}, DType::f32);
  return tensors;
}

void run_load(Case& c, const Models& models) {
  patch::KeyMap map;
  patch::add_unet_keys(map, models.unet_keys, models.layout, PatchCompat::reference);
  const bool with_clip = c.params().contains("file_keys");
  if (with_clip) patch::add_clip_keys(map, models.clip_keys, PatchCompat::reference);
  patch::AdapterTensors tensors;
  if (with_clip) {
    tensors = tensors_of(c.params().at("file_keys"));
  } else {
    for (const auto& [key, records] : c.expect().at("model_patches").items()) tensors.merge(pair_for(key, models.shapes.at(key)));
  }
  const auto shape_of = [&](std::string_view key) -> std::optional<Shape> {
    const auto it = models.shapes.find(key);
    return it == models.shapes.end() ? std::nullopt : std::optional(it->second);
  };
  const json& expect = c.expect();
  try {
    const auto report = patch::load_adapter(tensors, map, shape_of, {PatchCompat::reference});
    c.require(!expect.contains("error"), "no error");
    if (!expect.contains("error")) check_report(c, report, c.params().value("strength_model", 1.0), c.params().value("strength_clip", 1.0));
  } catch (const Error& error) {
    if (!expect.contains("error")) throw;
    const std::string missing(error.find("tensor"));
    c.require(!missing.empty() && expect.at("error").get<std::string>().find(missing) != std::string::npos, error.what());
  }
}

}  // namespace

Runner make_lora_keys_runner(const Group& group) {
  const auto models = std::make_shared<const Models>(open_models(group));
  return [models](Case& c) {
    if (c.expect().contains("map")) {
      patch::KeyMap map;
      if (c.name().find("clip") != std::string::npos) {
        patch::add_clip_keys(map, models->clip_keys, PatchCompat::reference);
      } else {
        patch::add_unet_keys(map, models->unet_keys, models->layout, PatchCompat::reference);
      }
      check_map(c, map);
    } else {
      run_load(c, *models);
    }
  };
}

}  // namespace veneer::goldens
