// Reads little-endian numbers and runs of bytes one after another, never past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "veneer/error.h"

namespace veneer::formats {

// Does not own the bytes. Every read throws Error(corrupt) with `truncated` as its text, naming the file and the byte, when the bytes end before it
// does.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view file, std::string_view truncated)
      : bytes_(bytes), file_(file), truncated_(truncated) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  // `position` has to be inside of the bytes or at their end.
  void seek(uint64_t position) {
    if (position > bytes_.size()) throw truncated(position);
    position_ = static_cast<size_t>(position);
  }

  std::span<const std::byte> take(uint64_t size) {
    if (size > remaining()) throw truncated(position_);
    const std::span<const std::byte> out = bytes_.subspan(position_, static_cast<size_t>(size));
    position_ += static_cast<size_t>(size);
    return out;
  }
  std::string_view text(uint64_t size) {
    const std::span<const std::byte> out = take(size);
    return {reinterpret_cast<const char*>(out.data()), out.size()};
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }

 private:
  uint64_t number(size_t size) {
    uint64_t value = 0;
    const std::span<const std::byte> bytes = take(size);
    for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
    return value;
  }
  Error truncated(uint64_t position) const {
    return Error(ErrorCode::corrupt, std::string(truncated_),
                 {{"file", std::string(file_)}, {"byte", std::to_string(position)}, {"file_bytes", std::to_string(bytes_.size())}});
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  std::string_view truncated_;
  size_t position_ = 0;
};

}  // namespace veneer::formats
