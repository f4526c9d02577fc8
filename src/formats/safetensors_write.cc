#include <array>
#include <unordered_set>

#include "base/checked.h"
#include "formats/atomic_file.h"
#include "formats/safetensors.h"
#include "formats/safetensors_header.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

std::array<std::byte, 8> little_endian(uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  return bytes;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const std::pair<std::string, Tensor>> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const auto refused = [&path](std::string text, const std::string& tensor) {
    return Error(ErrorCode::invalid, std::move(text), {{"file", path.string()}, {"tensor", tensor}});
  };
  if (tensors.size() > kMaxTensors) throw Error(ErrorCode::invalid, "safetensors: too many tensors", {{"file", path.string()}});
  std::vector<SafetensorsFile::Entry> entries;
  std::unordered_set<std::string_view> names;
  uint64_t position = 0;
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadataKey) throw refused("safetensors: tensor name is reserved", name);
    if (name.size() > kMaxTensorNameBytes) throw refused("safetensors: tensor name is too long", name);
    if (!names.insert(name).second) throw refused("safetensors: tensor name is given twice", name);
    if (!tensor.defined()) throw refused("safetensors: tensor has no bytes", name);
    const uint64_t end = checked_add(position, tensor.size_bytes(), "safetensors file");
    entries.push_back({name, tensor.dtype(), tensor.shape(), position, end});
    position = end;
  }
  std::string header;
  try {
    header = safetensors_header_json(entries, metadata);
  } catch (const Error& error) {
    throw error.with("file", path.string());
  }
  if (header.size() > kMaxHeaderBytes) throw Error(ErrorCode::invalid, "safetensors: header is too long", {{"file", path.string()}});

  AtomicFile file = AtomicFile::create(path);
  file.write(little_endian(header.size()));
  file.write(header);
  for (const auto& [name, tensor] : tensors) file.write(tensor.byte_span());
  file.commit();
}

}  // namespace veneer::formats
