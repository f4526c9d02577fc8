#include "models/family/checkpoint.h"

#include <array>
#include <set>
#include <utility>

#include "formats/scaled_fp8.h"
#include "models/family/diffusers_vae.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

// What a network's own tensors begin with. A tensor there that no module asks for is part of a network that would not be run whole.
constexpr std::array<std::string_view, 6> kUnetStems = {"diffusion_model.input_blocks.",  "diffusion_model.middle_block.",
                                                        "diffusion_model.output_blocks.", "diffusion_model.out.",
                                                        "diffusion_model.time_embed.",    "diffusion_model.label_emb."};
constexpr std::array<std::string_view, 4> kVaeStems = {"encoder.", "decoder.", "quant_conv.", "post_quant_conv."};

bool any_under(const WeightMap& tensors, std::string_view prefix) {
  const auto first = tensors.lower_bound(prefix);
  return first != tensors.end() && first->first.starts_with(prefix);
}

// Whether a part is there, whole or in pieces; a leftover that is no weight (a table of positions) is no part.
bool has_part(const WeightMap& tensors, std::string_view prefix) {
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it) {
    if (it->first.ends_with(".weight")) return true;
  }
  return false;
}

// The tensors under `prefix`, under `name` instead.
WeightMap renamed(const WeightMap& tensors, std::string_view prefix, std::string_view name) {
  WeightMap out;
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it) {
    out.emplace(std::string(name) + it->first.substr(prefix.size()), it->second);
  }
  return out;
}

// A base of exactly the weights that the network asks for. Under the `stems` there may be no others.
std::shared_ptr<const variant::BaseModel> make_base(std::string_view name, const Architecture& architecture, const WeightMap& weights,
                                                    std::span<const std::string_view> stems, const std::string& source,
                                                    std::map<std::string, variant::ModelObject> objects = {}) {
  check_weights(architecture.weights, weights, source);
  for (const std::string_view stem : stems) check_all_used(architecture.weights, weights, stem, source);
  WeightMap used;
  for (const WeightSpec& spec : architecture.weights) used.emplace(spec.key, weights.find(spec.key)->second);
  return variant::BaseModel::create(std::string(name), architecture.table, std::move(used), source, std::move(objects));
}

LoadedUnet make_unet(const FamilyDef& family, const WeightMap& tensors, std::string_view prefix, const std::string& source,
                     const ObjectsOf& objects) {
  const WeightMap weights = renamed(tensors, prefix, family.unet_name);
  LoadedUnet out;
  out.family = &family;
  out.network = std::make_shared<const Unet>(infer_unet_config(weights, family.unet_heads, source));
  out.base = make_base(std::string(family.name) + ".unet", out.network->architecture(), weights, kUnetStems, source,
                       objects ? objects(family) : std::map<std::string, variant::ModelObject>());
  return out;
}

LoadedVae make_vae(const WeightMap& tensors, std::string_view prefix, const std::string& source) {
  const WeightMap weights = is_diffusers_vae(tensors, prefix) ? with_original_vae_names(tensors, prefix) : renamed(tensors, prefix, "");
  LoadedVae out;
  out.network = std::make_shared<const Vae>(infer_vae_config(weights, source));
  out.base = make_base("vae", out.network->architecture(), weights, kVaeStems, source);
  return out;
}

std::map<std::string, std::string> clip_keys(const ClipKind& kind, const WeightMap& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return map_clip_keys(kind, names);
}

// `keys`: of the weights as patches name them, to those in the file.
LoadedClip make_clip(const ClipKind& kind, const std::map<std::string, std::string>& keys, const WeightMap& tensors, const std::string& source) {
  WeightMap weights;
  for (const auto& [key, name] : keys) weights.emplace(key, tensors.find(name)->second);
  LoadedClip out;
  out.network = std::make_shared<const ClipTextModel>(infer_clip_config(kind, weights, source));
  const std::string layers = clip_key_prefix(kind) + "text_model.encoder.";
  out.base = make_base(kind.name, out.network->architecture(), weights, std::array<std::string_view, 1>{layers}, source);
  return out;
}

// Notes which tensors of the file a base has taken.
void take(std::set<std::string>& unused, const variant::BaseModel& base, std::string_view prefix, std::string_view name) {
  for (const auto& [key, tensor] : base.weights()) unused.erase(std::string(prefix) + key.substr(name.size()));
}

// The first of the prefixes under which there are tensors called `stem`..., or null.
template <size_t N>
const std::string_view* first_holding(const std::array<std::string_view, N>& prefixes, const WeightMap& tensors, std::string_view stem) {
  for (const std::string_view& prefix : prefixes) {
    if (any_under(tensors, std::string(prefix) + std::string(stem))) return &prefix;
  }
  return nullptr;
}

[[noreturn]] void fail_not_a(std::string_view what, const WeightMap& tensors, const std::string& source) {
  const std::string_view foreign = looks_like(tensors);
  throw Error(ErrorCode::unsupported, "model file: not what was asked for",
              {{"file", source}, {"want", std::string(what)}, {"looks_like", foreign.empty() ? "nothing known" : std::string(foreign)}});
}

}  // namespace

WeightMap tensors_of(const formats::ModelFile& file) { return formats::tensors_with_scales(file); }

LoadedCheckpoint load_checkpoint(const WeightMap& tensors, const std::string& source, const ObjectsOf& objects) {
  LoadedCheckpoint out;
  out.family = &detect_family(tensors, all_families().front().unet_prefix, source);
  const FamilyDef& family = *out.family;
  out.unet = make_unet(family, tensors, family.unet_prefix, source, objects);
  const std::map<std::string, std::string> clip = clip_keys(family.clip(), tensors);
  if (has_part(tensors, family.clip_stem)) out.clip = make_clip(family.clip(), clip, tensors, source);
  if (has_part(tensors, family.vae_prefix)) out.vae = make_vae(tensors, family.vae_prefix, source);

  std::set<std::string> unused;
  for (const auto& [key, tensor] : tensors) unused.insert(key);
  take(unused, *out.unet.base, family.unet_prefix, family.unet_name);
  if (out.clip) {
    for (const auto& [key, tensor] : out.clip->base->weights()) unused.erase(clip.at(key));
  }
  if (out.vae) take(unused, *out.vae->base, family.vae_prefix, family.vae_name);
  out.unused.assign(unused.begin(), unused.end());
  return out;
}

LoadedUnet load_unet(const WeightMap& tensors, const std::string& source, const ObjectsOf& objects) {
  static constexpr std::array<std::string_view, 3> kPrefixes = {"model.diffusion_model.", "diffusion_model.", ""};
  const std::string_view* prefix = first_holding(kPrefixes, tensors, "input_blocks.");
  if (prefix == nullptr) fail_not_a("a UNet", tensors, source);
  return make_unet(detect_family(tensors, *prefix, source), tensors, *prefix, source, objects);
}

LoadedClip load_clip(const WeightMap& tensors, const std::string& source, const ClipKind& kind) {
  const std::map<std::string, std::string> keys = clip_keys(kind, tensors);
  if (keys.empty()) fail_not_a("a text encoder", tensors, source);
  return make_clip(kind, keys, tensors, source);
}

LoadedVae load_vae(const WeightMap& tensors, const std::string& source) {
  static constexpr std::array<std::string_view, 3> kPrefixes = {"first_stage_model.", "vae.", ""};
  const std::string_view* prefix = first_holding(kPrefixes, tensors, "decoder.mid");
  if (prefix == nullptr) fail_not_a("an autoencoder", tensors, source);
  return make_vae(tensors, *prefix, source);
}

namespace {

// Opens a file and adds its name to what goes wrong inside.
template <typename Load>
auto from_file(const std::filesystem::path& path, Load load) {
  const formats::ModelFile file = formats::ModelFile::open(path);
  return load(tensors_of(file), file.name());
}

}  // namespace

LoadedCheckpoint load_checkpoint(const std::filesystem::path& path, const ObjectsOf& objects) {
  return from_file(path, [&](const WeightMap& tensors, const std::string& name) { return load_checkpoint(tensors, name, objects); });
}

LoadedUnet load_unet(const std::filesystem::path& path, const ObjectsOf& objects) {
  return from_file(path, [&](const WeightMap& tensors, const std::string& name) { return load_unet(tensors, name, objects); });
}

LoadedClip load_clip(const std::filesystem::path& path, const ClipKind& kind) {
  return from_file(path, [&](const WeightMap& tensors, const std::string& name) { return load_clip(tensors, name, kind); });
}

LoadedVae load_vae(const std::filesystem::path& path) {
  return from_file(path, [](const WeightMap& tensors, const std::string& name) { return load_vae(tensors, name); });
}

}  // namespace veneer::models
