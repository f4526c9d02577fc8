#include "models/family/checkpoint_names.h"

#include "models/clip/clip_config.h"
#include "veneer/error.h"

namespace veneer::models {

const FamilyDef* family_of_unet(std::string_view architecture) {
  for (const FamilyDef& family : all_families()) {
    if (architecture == std::string(family.name) + ".unet") return &family;
  }
  return nullptr;
}

NamePrefixes unet_in_checkpoint(const FamilyDef& family) { return {std::string(family.unet_name), std::string(family.unet_prefix)}; }

NamePrefixes clip_in_checkpoint(const FamilyDef& family) {
  // The prefixes of a kind include the text model, beside which other weights of the encoder lie.
  constexpr std::string_view kTextModel = "text_model.";
  std::string_view file = family.clip().file_prefixes.front();
  if (file.ends_with(kTextModel)) file.remove_suffix(kTextModel.size());
  return {clip_key_prefix(family.clip()), std::string(file)};
}

NamePrefixes vae_in_checkpoint(const FamilyDef& family) { return {std::string(family.vae_name), std::string(family.vae_prefix)}; }

NamePrefixes clip_alone(const ClipKind& kind) { return {clip_key_prefix(kind), ""}; }

NamePrefixes vae_alone() { return {"", ""}; }

std::string name_in_file(const NamePrefixes& prefixes, std::string_view key) {
  if (!key.starts_with(prefixes.key)) {
    throw Error(ErrorCode::invalid, "save: a weight does not belong to the model", {{"key", std::string(key)}, {"want", prefixes.key + "..."}});
  }
  return prefixes.file + std::string(key.substr(prefixes.key.size()));
}

}  // namespace veneer::models
