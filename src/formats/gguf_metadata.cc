#include "formats/gguf_metadata.h"

#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "formats/latin1.h"

namespace veneer::formats {
namespace {

enum Type : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kArray, kU64, kI64, kF64 };

constexpr uint64_t kMaxTextBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxShownElements = 16;
constexpr size_t kMaxShownBytes = 65'536;
constexpr int kMaxNesting = 4;
constexpr std::string_view kOriginalShape = "comfy.gguf.orig_shape.";

// Bytes of a value, 0 for texts and arrays.
uint64_t width_of(uint32_t type) {
  constexpr std::array<uint64_t, 13> kWidths = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < kWidths.size() ? kWidths[type] : 0;
}

template <typename Real>
std::string real_text(Real value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

class Reader {
 public:
  Reader(ByteReader& reader, const std::string& file) : reader_(reader), file_(file) {}

  void pair(GgufMetadata& out) {
    key_.clear();
    const std::string_view key = read_gguf_text(reader_, 65'535, file_);
    if (!is_utf8(key)) throw broken("gguf: key is not UTF-8");
    key_ = key;
    numbers_.clear();
    const uint32_t type = reader_.u32();
    const std::string text = value(type, 0);
    if (key == "general.alignment") {
      if (type != kU32 || numbers_.front() < 8 || !std::has_single_bit(static_cast<uint64_t>(numbers_.front())) || numbers_.front() > 65'536) {
        throw broken("gguf: alignment is not a power of two from 8 to 65536");
      }
      out.alignment = static_cast<uint64_t>(numbers_.front());
    }
    if (key.starts_with(kOriginalShape) && type == kArray) out.original_shapes.emplace(key.substr(kOriginalShape.size()), numbers_);
    if (!out.text.emplace(key_, text).second) throw broken("gguf: key is there twice");
  }

 private:
  std::string value(uint32_t type, int depth) {
    if (type == kText) {
      const std::string_view text = read_gguf_text(reader_, kMaxTextBytes, file_);
      return is_utf8(text) ? std::string(text) : std::string();
    }
    if (type == kArray) return array(depth);
    if (width_of(type) == 0) throw broken("gguf: type of a value is not known");
    return scalar(type);
  }

  std::string array(int depth) {
    if (depth == kMaxNesting) throw broken("gguf: arrays are nested too deep");
    const uint32_t type = reader_.u32();
    const uint64_t count = reader_.u64(), width = width_of(type);
    if (type > kF64) throw broken("gguf: type of a value is not known");
    // The least that the elements take; a text and an array have their length at least.
    const uint64_t least = width > 0 ? width : type == kArray ? 12 : 8;
    if (count > reader_.remaining() / least) throw broken("gguf: file is truncated: array leaves it");
    if (count > kMaxShownElements) {
      if (width > 0) {
        (void)reader_.take(count * width);
      } else {
        for (uint64_t i = 0; i < count; ++i) (void)value(type, depth + 1);
      }
      return "[" + std::to_string(count) + " values]";
    }
    std::string out = "[";
    for (uint64_t i = 0; i < count; ++i) {
      if (i > 0) out += ", ";
      const std::string element = value(type, depth + 1);
      if (out.size() < kMaxShownBytes) out += element;
    }
    return out + "]";
  }

  std::string scalar(uint32_t type) {
    switch (type) {
      case kU8: return whole(reader_.u8());
      case kI8: return whole(static_cast<int8_t>(reader_.u8()));
      case kU16: return whole(reader_.u16());
      case kI16: return whole(static_cast<int16_t>(reader_.u16()));
      case kU32: return whole(reader_.u32());
      case kI32: return whole(static_cast<int32_t>(reader_.u32()));
      case kU64: {
        const uint64_t value = reader_.u64();
        numbers_.push_back(value > INT64_MAX ? -1 : static_cast<int64_t>(value));
        return std::to_string(value);
      }
      case kI64: return whole(static_cast<int64_t>(reader_.u64()));
      case kF32: return real_text(std::bit_cast<float>(reader_.u32()));
      case kF64: return real_text(std::bit_cast<double>(reader_.u64()));
      default: {
        const uint8_t flag = reader_.u8();
        if (flag > 1) throw broken("gguf: boolean is neither 0 nor 1");
        return flag != 0 ? "true" : "false";
      }
    }
  }

  std::string whole(int64_t value) {
    numbers_.push_back(value);
    return std::to_string(value);
  }

  Error broken(const char* text) const { return Error(ErrorCode::corrupt, text, {{"file", file_}, {"key", key_.substr(0, 256)}}); }

  ByteReader& reader_;
  const std::string& file_;
  std::string key_;
  std::vector<int64_t> numbers_;  // whole numbers of the value being read
};

}  // namespace

std::string_view read_gguf_text(ByteReader& reader, uint64_t most, const std::string& file) {
  const uint64_t size = reader.u64();
  if (size > reader.remaining())
    throw Error(ErrorCode::corrupt, "gguf: file is truncated: text leaves it", {{"file", file}, {"bytes", std::to_string(size)}});
  if (size > most)
    throw Error(ErrorCode::corrupt, "gguf: text is too long", {{"file", file}, {"bytes", std::to_string(size)}, {"most", std::to_string(most)}});
  return reader.text(size);
}

GgufMetadata read_gguf_metadata(ByteReader& reader, uint64_t count, const std::string& file) {
  GgufMetadata out;
  Reader pairs(reader, file);
  for (uint64_t i = 0; i < count; ++i) pairs.pair(out);
  return out;
}

}  // namespace veneer::formats
