// The patch kinds that adapter files hold, in the order in which they are looked for.
#pragma once

#include <span>
#include <string_view>

#include "patch/layer_tensors.h"
#include "patch/patch_value.h"

namespace veneer::patch {

struct FileKind {
  std::string_view name;
  // Which tensor of the layer the value is for.
  enum class Target : uint8_t { weight, bias } target = Target::weight;
  // What follows the layer's prefix in the names that this kind reads (alpha, dora_scale and reshape_weight apart).
  std::span<const std::string_view> suffixes;
  // The value, or null when the layer holds none of this kind. Throws Error(corrupt) when its tensors do not fit each other or one is missing.
  std::shared_ptr<PatchValue> (*parse)(LayerTensors& layer);
};

// Add a kind: one file in this folder, one declaration and one line in file_kinds.cc. When a layer holds several kinds, the last one counts.
std::span<const FileKind> file_kinds();

// Suffixes that belong to several kinds.
std::span<const std::string_view> shared_suffixes();

std::shared_ptr<PatchValue> parse_lora(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_loha(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_lokr(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_glora(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_oft(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_boft(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_norm(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_norm_bias(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_diff(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_diff_bias(LayerTensors& layer);
std::shared_ptr<PatchValue> parse_set(LayerTensors& layer);

}  // namespace veneer::patch
