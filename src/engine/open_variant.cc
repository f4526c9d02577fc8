#include "engine/open_variant.h"

#include <cmath>
#include <utility>

#include "nodes/apply_lora.h"
#include "registry/nearest_names.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

constexpr double kMostStrength = 100;  // LoraLoader's range

void check_strength(const std::string& name, double strength) {
  if (std::isfinite(strength) && std::abs(strength) <= kMostStrength) return;
  throw Error(ErrorCode::invalid, "the strength of a LoRA is out of range",
              {{"lora", name}, {"strength", std::to_string(strength)}, {"allowed", "-100 to 100"}});
}

std::string joined(const std::vector<std::string>& names, const char* none) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? none : out;
}

}  // namespace

std::string lora_name(const registry::ModelFolders& folders, const std::string& name) {
  return !folders.find("loras", name) && folders.find("loras", name + ".safetensors") ? name + ".safetensors" : name;
}

// A name without its extension gets the nearest names too, where resolve() would speak of file types.
void require_model(const registry::ModelFolders& folders, const char* kind, const std::string& name) {
  if (folders.find(kind, name)) return;
  const std::vector<std::string> names = folders.list(kind);
  std::vector<std::string> nearest = registry::nearest_names(name, names);
  if (nearest.empty()) nearest = registry::nearest_names(name + ".safetensors", names);
  throw Error(ErrorCode::not_found, "there is no such model",
              {{"kind", kind}, {"name", name}, {"nearest", joined(nearest, "(none is near)")}, {"allowed", joined(names, "(there is none)")}});
}

OpenVariant open_variant(nodes::ModelStore& models, const VariantRequest& request) {
  for (const auto& [name, strength] : request.loras) check_strength(name, strength);
  OpenVariant out;
  require_model(models.folders(), "checkpoints", request.model);
  out.parts = models.checkpoint(request.model);
  out.file = out.parts.model->patcher.model()->source_name();
  for (const auto& [asked, strength] : request.loras) {
    OpenAdapter adapter;
    adapter.name = lora_name(models.folders(), asked);
    adapter.strength = strength;
    require_model(models.folders(), "loras", adapter.name);
    const formats::ModelFile file = models.lora(adapter.name);
    adapter.file = file.name();
    const nodes::ClipValue* clip = out.parts.clip ? &*out.parts.clip : nullptr;
    nodes::LoraResult result = nodes::apply_lora(&*out.parts.model, clip, file, {strength, strength});
    out.parts.model = std::move(result.model);
    if (clip != nullptr) out.parts.clip = std::move(result.clip);
    adapter.report = std::move(result.report);
    out.adapters.push_back(std::move(adapter));
  }
  return out;
}

}  // namespace veneer::engine
