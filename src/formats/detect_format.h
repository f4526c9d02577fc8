// What kind of model file bytes are, by what is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace veneer::formats {

enum class ModelFormat : uint8_t { safetensors, torch_zip, torch_pickle, gguf, index };

// Looks at the first bytes. `file` names them in errors, and where nothing fits, a name that ends with ".safetensors" lets that format's reader tell
// what is wrong. Throws Error(corrupt) with "truncated" for an empty file, Error(unsupported) saying what it looks like for anything else.
ModelFormat detect_format(std::span<const std::byte> bytes, const std::string& file);

}  // namespace veneer::formats
