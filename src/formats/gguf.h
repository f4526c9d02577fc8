// GGUF files, versions 2 and 3. Grammar: docs/formats/gguf.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/model_contents.h"

namespace veneer::formats {

inline constexpr uint64_t kMaxGgufTensors = 262'144;
inline constexpr uint64_t kMaxGgufPairs = 65'536;
inline constexpr size_t kMaxGgufNameBytes = 1024;
inline constexpr uint64_t kGgufAlignment = 32;  // unless the file says another

// ggml's number of a dtype.
struct GgufType {
  uint32_t number;
  DType dtype;
};
std::optional<DType> dtype_of_gguf(uint32_t number);
// nullopt for dtypes that GGUF has no number for.
std::optional<uint32_t> gguf_number_of(DType dtype);

// Metadata are the file's key-value pairs as text; arrays of up to 16 elements in brackets, longer ones as their count. A tensor whose shape was
// flattened when it was quantised ("comfy.gguf.orig_shape.NAME") has its own shape again.
ModelContents read_gguf(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file);

}  // namespace veneer::formats
