#include "nodes/apply_lora.h"

#include <algorithm>

#include "patch/adapter_file.h"
#include "patch/key_map.h"

namespace veneer::nodes {
namespace {

std::vector<std::string> keys_of(const variant::BaseModel& base) {
  std::vector<std::string> keys;
  keys.reserve(base.weights().size());
  for (const auto& [key, tensor] : base.weights()) keys.push_back(key);
  return keys;
}

patch::UnetLayout layout_of(const models::UnetConfig& config) {
  patch::UnetLayout layout;
  for (const models::UnetLevel& level : config.levels) {
    layout.num_res_blocks.push_back(static_cast<int>(level.input_depths.size()));
    layout.transformer_depth.insert(layout.transformer_depth.end(), level.input_depths.begin(), level.input_depths.end());
    // The layout lists the way up as the mirror image of the way down; a level's depths are in order of execution.
    layout.transformer_depth_output.insert(layout.transformer_depth_output.end(), level.output_depths.rbegin(), level.output_depths.rend());
  }
  layout.transformer_depth_middle = config.middle_depth;
  return layout;
}

bool is_text_layer(const std::string& layer) {
  return layer.starts_with("lora_te") || layer.starts_with("text_encoder") || layer.starts_with("text_model") || layer.starts_with("te_") ||
         layer.starts_with("te1_");
}

std::string list_some(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? out + ", ..." : out;
}

std::string remark_of(const patch::AdapterReport& report, const std::string& file, bool with_clip) {
  std::vector<std::string> unused;
  for (const std::string& layer : report.unused_layers) {
    if (with_clip || !is_text_layer(layer)) unused.push_back(layer);
  }
  std::vector<std::string> mismatched;
  for (const auto& mismatch : report.mismatched) mismatched.push_back(mismatch.layer);
  if (unused.empty() && mismatched.empty()) return {};
  std::string remark = file + ": " + std::to_string(report.matched.size()) + " layers used";
  if (!unused.empty()) remark += "; " + std::to_string(unused.size()) + " not known to the model (" + list_some(unused) + ")";
  if (!mismatched.empty()) remark += "; " + std::to_string(mismatched.size()) + " of another shape (" + list_some(mismatched) + ")";
  return remark;
}

}  // namespace

LoraResult apply_lora(const ModelValue* model, const ClipValue* clip, const formats::SafetensorsFile& file, const LoraStrengths& strengths) {
  patch::KeyMap map;
  if (model != nullptr) patch::add_unet_keys(map, keys_of(*model->patcher.model()), layout_of(model->network->config()));
  if (clip != nullptr) patch::add_clip_keys(map, keys_of(*clip->patcher.model()));
  const auto shape_of = [&](std::string_view key) -> std::optional<Shape> {
    for (const variant::BaseModel* base : {model ? model->patcher.model().get() : nullptr, clip ? clip->patcher.model().get() : nullptr}) {
      if (base != nullptr && base->has_key(key)) return base->weight(key).shape();
    }
    return std::nullopt;
  };
  const patch::AdapterReport report = patch::load_adapter(file, map, shape_of);
  if (report.patches.empty()) {
    const variant::BaseModel& base = model != nullptr ? *model->patcher.model() : *clip->patcher.model();
    throw patch::no_match_error(file.name(), report, base.architecture());
  }

  LoraResult result;
  if (model != nullptr) {
    result.model = *model;
    result.model->patcher = model->patcher.clone();
    result.model->patcher.add_patches(report.patches, strengths.model);
  }
  if (clip != nullptr) {
    result.clip = *clip;
    result.clip->patcher = clip->patcher.clone();
    result.clip->patcher.add_patches(report.patches, strengths.clip);
  }
  result.remark = remark_of(report, file.name(), clip != nullptr);
  return result;
}

}  // namespace veneer::nodes
