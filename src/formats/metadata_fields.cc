#include "formats/metadata_fields.h"

#include <algorithm>
#include <array>

namespace veneer::formats {
namespace {

constexpr std::string_view kModelSpec = "modelspec.", kGeneral = "general.";

struct Alias {
  std::string_view name, common;
};
constexpr auto kAliases = std::to_array<Alias>({{"model_type", "architecture"},
                                                {"sai_model_spec", "format_version"},
                                                {"name", "title"},
                                                {"model_name", "title"},
                                                {"ss_base_model_version", "base_model"},
                                                {"sd_merge_models", "merge_models"}});

int rank_of(std::string_view key) { return key.starts_with(kModelSpec) ? 0 : key.starts_with(kGeneral) ? 1 : 2; }

}  // namespace

std::string common_field_name(std::string_view key) {
  for (const std::string_view prefix : {kModelSpec, kGeneral}) {
    if (key.starts_with(prefix)) {
      key.remove_prefix(prefix.size());
      break;
    }
  }
  const auto* alias = std::ranges::find(kAliases, key, &Alias::name);
  return std::string(alias != kAliases.end() ? alias->common : key);
}

std::map<std::string, MetadataField> common_fields(const std::map<std::string, std::string>& metadata) {
  std::map<std::string, MetadataField> out;
  for (const auto& [key, value] : metadata) {
    const auto [at, fresh] = out.try_emplace(common_field_name(key), MetadataField{key, value});
    if (!fresh && rank_of(key) < rank_of(at->second.key)) at->second = {key, value};
  }
  return out;
}

}  // namespace veneer::formats
