// The key-value pairs of a GGUF file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_reader.h"

namespace veneer::formats {

struct GgufMetadata {
  std::map<std::string, std::string> text;
  uint64_t alignment = 32;
  // Of tensors that were flattened, by name.
  std::map<std::string, std::vector<int64_t>, std::less<>> original_shapes;
};

// Reads `count` pairs. Throws Error(corrupt) naming file and key.
GgufMetadata read_gguf_metadata(ByteReader& reader, uint64_t count, const std::string& file);

// Length and bytes of a text. Throws Error(corrupt) beyond `most` bytes.
std::string_view read_gguf_text(ByteReader& reader, uint64_t most, const std::string& file);

}  // namespace veneer::formats
