#include <algorithm>
#include <string>

#include "patch/key_map.h"

namespace veneer::patch {
namespace {

constexpr std::string_view kPrefix = "diffusion_model.";
constexpr std::string_view kWeight = ".weight";

// Appended as pieces: GCC 12 warns wrongly about chains of operator+.
std::string text(std::initializer_list<std::string_view> pieces) {
  std::string joined;
  for (const std::string_view piece : pieces) joined.append(piece);
  return joined;
}

std::string underscored(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '.', '_');
  return result;
}

// diffusers' attention processors of 2023 put ".processor" before the projections and left the list index of to_out away.
std::string processor_name(std::string_view name) {
  std::string result(name);
  for (size_t at = 0; (at = result.find(".to_", at)) != std::string::npos; at += 14) result.replace(at, 4, ".processor.to_");
  if (result.ends_with(".to_out.0")) result.resize(result.size() - 2);
  return result;
}

}  // namespace

void add_unet_keys(KeyMap& map, std::span<const std::string> keys, const UnetLayout& layout, PatchCompat compat) {
  const bool more = compat == PatchCompat::standard;
  for (const std::string& key : keys) {
    if (!key.starts_with(kPrefix)) continue;
    if (!key.ends_with(kWeight)) {
      map.add(key, key);
      continue;
    }
    const std::string_view whole = std::string_view(key).substr(0, key.size() - kWeight.size());
    map.add(text({"lora_unet_", underscored(whole.substr(kPrefix.size()))}), key);
    map.add(std::string(whole), key);
    if (more) map.add(text({"model.", whole}), key);
  }
  for (const auto& [diffusers, sd] : diffusers_unet_names(layout)) {
    const std::string_view name = std::string_view(diffusers).substr(0, diffusers.size() - kWeight.size());
    const std::string key = text({kPrefix, sd});
    map.add(text({"lora_unet_", underscored(name)}), key);
    map.add(text({"lycoris_", underscored(name)}), key);
    map.add(processor_name(name), key);
    map.add(text({"unet.", processor_name(name)}), key);
    if (!more) continue;
    map.add(std::string(name), key);
    map.add(text({"unet.", name}), key);
  }
}

}  // namespace veneer::patch
