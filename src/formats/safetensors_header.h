// The JSON header of a safetensors file: parsing, checking and writing. Grammar and limits: docs/formats/safetensors.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace veneer::formats {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;
// Each costs many times its bytes when it is read; trainers write some dozens.
inline constexpr size_t kMaxMetadataKeys = 65'536;
inline constexpr size_t kMaxTensors = 262'144;
inline constexpr size_t kMaxTensorNameBytes = 1024;
inline constexpr std::string_view kMetadataKey = "__metadata__";

struct SafetensorsEntry {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t begin = 0, end = 0;  // offsets into the data part
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // by offset; they tile [0, data_bytes) without overlap or hole
  std::map<std::string, std::string> metadata;
};

// Checks everything that can be known without looking at data: see the rules in the format's page. `file` names the file in errors.
// Throws Error(corrupt), or Error(unsupported) for a dtype of the format that Veneer has no type for.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, std::string_view file);

// The header's JSON for tensors laid out one after another, padded with spaces so that the data begins at a multiple of 8.
// Throws Error(invalid) for text that is not UTF-8.
std::string safetensors_header_json(const std::vector<SafetensorsEntry>& entries, const std::map<std::string, std::string>& metadata);

// "F32", "BF16", "F8_E4M3", ...
std::string_view safetensors_dtype_name(DType dtype);
std::optional<DType> dtype_of_safetensors_name(std::string_view name);

}  // namespace veneer::formats
