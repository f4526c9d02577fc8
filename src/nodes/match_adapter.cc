#include "nodes/match_adapter.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace veneer::nodes {
namespace {

std::vector<std::string> keys_of(const variant::BaseModel& base) {
  std::vector<std::string> keys;
  keys.reserve(base.weights().size());
  for (const auto& [key, tensor] : base.weights()) keys.push_back(key);
  return keys;
}

std::string list_some(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? out + ", ..." : out;
}

// The broken rule of a layer, and the shapes.
std::string why(const patch::AdapterReport::Mismatch& mismatch) {
  return mismatch.want.empty() ? mismatch.reason : mismatch.reason + ", want " + mismatch.want + ", got " + mismatch.got;
}

}  // namespace

patch::UnetLayout unet_layout(const models::UnetConfig& config) {
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

patch::AdapterReport match_adapter(const formats::ModelFile& file, const AdapterTargets& targets) {
  patch::KeyMap map;
  if (targets.unet != nullptr) patch::add_unet_keys(map, keys_of(*targets.unet), targets.layout, targets.compat);
  if (targets.clip != nullptr) patch::add_clip_keys(map, keys_of(*targets.clip), targets.compat);
  const auto shape_of = [&](std::string_view key) -> std::optional<Shape> {
    for (const variant::BaseModel* base : {targets.unet, targets.clip}) {
      if (base != nullptr && base->has_key(key)) return base->weight(key).shape();
    }
    return std::nullopt;
  };
  return patch::load_adapter(file, map, shape_of, {.compat = targets.compat, .file_name = {}});
}

bool is_text_layer(std::string_view layer) {
  if (layer.starts_with(patch::kPeftPrefix)) layer.remove_prefix(patch::kPeftPrefix.size());
  return layer.starts_with("lora_te") || layer.starts_with("text_encoder") || layer.starts_with("text_model") || layer.starts_with("te_") ||
         layer.starts_with("te1_");
}

std::string adapter_remark(const patch::AdapterReport& report, const std::string& file, const std::function<bool(std::string_view layer)>& counts) {
  std::vector<std::string> unused;
  std::ranges::copy_if(report.unused_layers, std::back_inserter(unused), counts);
  std::vector<std::string> misshapen, damaged, left_out;
  for (const auto& mismatch : report.mismatched) {
    (mismatch.want.empty() ? damaged : misshapen).push_back(mismatch.layer + ": " + why(mismatch));
  }
  for (const auto& mismatch : report.left_out) left_out.push_back(mismatch.layer + " for " + mismatch.key + ": " + why(mismatch));
  if (unused.empty() && misshapen.empty() && damaged.empty() && left_out.empty()) return {};
  std::string remark = file + ": " + std::to_string(report.matched.size()) + " layers used";
  if (!unused.empty()) remark += "; " + std::to_string(unused.size()) + " not known to the model (" + list_some(unused) + ")";
  if (!misshapen.empty()) remark += "; " + std::to_string(misshapen.size()) + " of another shape (" + list_some(misshapen) + ")";
  if (!damaged.empty()) remark += "; " + std::to_string(damaged.size()) + " damaged (" + list_some(damaged) + ")";
  if (!left_out.empty()) {
    remark += "; warning: " + std::to_string(left_out.size()) + " left out, as the reference does (" + list_some(left_out) + ")";
  }
  return remark;
}

}  // namespace veneer::nodes
