// Which weight of a model a layer's name in an adapter file means. Trainers spell the same layer in many ways; a map holds all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "patch/patch_compat.h"

namespace veneer::patch {

// Layer name in a file -> weight key of a model, in order: when a file spells one weight in two ways, the later entry counts.
class KeyMap {
 public:
  using Entry = std::pair<std::string, std::string>;
  // A name that is there already gets the new key and keeps its place.
  void add(std::string name, std::string key);
  const std::vector<Entry>& entries() const { return entries_; }
  // The key for a name, or null.
  const std::string* find(std::string_view name) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> index_;
};

// The structure of a UNet as far as diffusers' names depend on it. All lists go from the outermost resolution inward; transformer depths are per
// residual block (the output side has num_res_blocks + 1 of them at each resolution, listed as the output blocks' mirror image is: the last entry
// belongs to the first output block).
struct UnetLayout {
  std::vector<int> num_res_blocks;
  std::vector<int> transformer_depth;
  int transformer_depth_middle = 0;
  std::vector<int> transformer_depth_output;
};

// Adds the names under which adapter files mean the weights of a UNet. `keys`: the model's weight keys, those of the UNet beginning with
// "diffusion_model.". PatchCompat::reference adds the names that the reference knows; standard adds further common spellings.
void add_unet_keys(KeyMap& map, std::span<const std::string> keys, const UnetLayout& layout, PatchCompat compat = PatchCompat::standard);

// The same for text encoders, whose keys begin with "clip_l.transformer." (or clip_g, clip_h).
void add_clip_keys(KeyMap& map, std::span<const std::string> keys, PatchCompat compat = PatchCompat::standard);

// diffusers' name -> name in the SD layout (without "diffusion_model."), for every weight that the layout can have.
std::vector<KeyMap::Entry> diffusers_unet_names(const UnetLayout& layout);

}  // namespace veneer::patch
