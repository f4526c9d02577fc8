// For tests: safetensors files put together by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"

namespace veneer::formats {

inline std::string length_field(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes;
}

inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return length_field(header.size()) + std::string(header) + std::string(data);
}

inline uint64_t header_length(std::string_view bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

// Parses a copy in a block of exactly this size, so that AddressSanitizer sees a read past the end.
inline ModelFile parse_bytes(std::string_view bytes, std::string name = "test.safetensors") {
  const auto copy = std::make_shared<std::vector<char>>(bytes.begin(), bytes.end());
  return ModelFile::parse(std::as_bytes(std::span(*copy)), copy, std::move(name));
}

}  // namespace veneer::formats
