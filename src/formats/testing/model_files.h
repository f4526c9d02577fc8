// For tests: the small model files in tests/files/formats, and what is in a file as text that can be compared.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"

namespace veneer::formats {

inline std::filesystem::path model_file_path(const std::string& name) {
  return std::filesystem::path(VENEER_SOURCE_DIR) / "tests/files/formats" / name;
}

// Parses a copy in a block of exactly this size, so that AddressSanitizer sees a read past the end.
inline ModelFile parse_model(std::string_view bytes, std::string name = "test") {
  const auto copy = std::make_shared<std::vector<char>>(bytes.begin(), bytes.end());
  return ModelFile::parse(std::as_bytes(std::span(*copy)), copy, std::move(name));
}

// The stored bytes of each tensor, sorted; reads every one. Equal for files with the same content under whatever names.
inline std::vector<std::string> tensor_bytes(const ModelFile& file) {
  std::vector<std::string> out;
  for (const ModelFile::Entry& entry : file.entries()) {
    const Tensor tensor = file.tensor(entry.name);
    out.emplace_back(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// "name dtype shape" of each tensor, sorted.
inline std::vector<std::string> tensor_names(const ModelFile& file) {
  std::vector<std::string> out;
  for (const ModelFile::Entry& entry : file.entries())
    out.push_back(entry.name + " " + std::string(to_string(entry.dtype)) + " " + entry.shape.to_string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace veneer::formats
