#include "formats/safetensors.h"

#include "formats/safetensors_header.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr size_t kLengthBytes = 8;

// The length is stored little-endian.
uint64_t read_length(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return length;
}

}  // namespace

ModelContents read_safetensors(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file) {
  if (bytes.size() < kLengthBytes) {
    throw Error(ErrorCode::corrupt, "safetensors: file is shorter than its length field", {{"file", file}, {"bytes", std::to_string(bytes.size())}});
  }
  const uint64_t length = read_length(bytes);
  const Error::Context context = {{"file", file}, {"header_bytes", std::to_string(length)}, {"file_bytes", std::to_string(bytes.size())}};
  if (length > bytes.size() - kLengthBytes) throw Error(ErrorCode::corrupt, "safetensors: header leaves the file", context);
  if (length > kMaxHeaderBytes) {
    throw Error(ErrorCode::corrupt, "safetensors: header is too long", context).with("most", std::to_string(kMaxHeaderBytes));
  }
  const std::span<const std::byte> head = bytes.subspan(kLengthBytes, length), data = bytes.subspan(kLengthBytes + length);
  SafetensorsHeader header = parse_safetensors_header({reinterpret_cast<const char*>(head.data()), head.size()}, data.size(), file);
  ModelContents out{.format = "safetensors", .metadata = std::move(header.metadata)};
  out.tensors.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    out.tensors.push_back({std::move(entry.name), Tensor::view(entry.shape, entry.dtype, data.data() + entry.begin, owner)});
  }
  return out;
}

}  // namespace veneer::formats
