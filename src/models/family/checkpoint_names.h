// Names of weights in saved files: the inverse of what checkpoint.h reads.
#pragma once

#include <string>
#include <string_view>

#include "models/family/family.h"

namespace veneer::models {

// Weights whose keys, as patches name them, begin with `key` are in a file under names that begin with `file` and go on alike.
struct NamePrefixes {
  std::string key, file;
};

// The family whose UNet a base of this architecture is ("sd1.unet"), or null.
const FamilyDef* family_of_unet(std::string_view architecture);

// In a checkpoint of the family.
NamePrefixes unet_in_checkpoint(const FamilyDef& family);
NamePrefixes clip_in_checkpoint(const FamilyDef& family);
NamePrefixes vae_in_checkpoint(const FamilyDef& family);
// In files of their own, as transformers and the original autoencoder have them.
NamePrefixes clip_alone(const ClipKind& kind);
NamePrefixes vae_alone();

// The name of the weight `key`. Throws Error(invalid) for a key that does not begin with the prefix.
std::string name_in_file(const NamePrefixes& prefixes, std::string_view key);

}  // namespace veneer::models
