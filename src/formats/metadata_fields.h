// The names of metadata in files of different formats, brought to common ones.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace veneer::formats {

struct MetadataField {
  std::string key;  // in the file
  std::string value;
};

// "architecture" for modelspec.architecture, general.architecture, model_type and architecture; "format_version" for modelspec.sai_model_spec; others
// without the prefixes "modelspec." and "general.".
std::string common_field_name(std::string_view key);

// The metadata by common name. Where several keys have one, ModelSpec's counts, then GGUF's, then the first.
std::map<std::string, MetadataField> common_fields(const std::map<std::string, std::string>& metadata);

}  // namespace veneer::formats
