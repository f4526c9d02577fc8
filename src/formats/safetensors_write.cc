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

Error refused(std::string text, const std::string& tensor) { return Error(ErrorCode::invalid, std::move(text), {{"tensor", tensor}}); }

std::string header_of(std::span<const TensorSource> tensors, const std::map<std::string, std::string>& metadata) {
  if (tensors.size() > kMaxTensors) throw Error(ErrorCode::invalid, "safetensors: too many tensors");
  std::vector<SafetensorsEntry> entries;
  std::unordered_set<std::string_view> names;
  uint64_t position = 0;
  for (const auto& [name, dtype, shape, make] : tensors) {
    if (name == kMetadataKey) throw refused("safetensors: tensor name is reserved", name);
    if (name.size() > kMaxTensorNameBytes) throw refused("safetensors: tensor name is too long", name);
    if (!names.insert(name).second) throw refused("safetensors: tensor name is given twice", name);
    const uint64_t size = checked_mul(static_cast<uint64_t>(shape.num_elements()), size_of(dtype), "safetensors file");
    const uint64_t end = checked_add(position, size, "safetensors file");
    entries.push_back({name, dtype, shape, position, end});
    position = end;
  }
  std::string header = safetensors_header_json(entries, metadata);
  if (header.size() > kMaxHeaderBytes) throw Error(ErrorCode::invalid, "safetensors: header is too long");
  return header;
}

// The sources hold their tensors already.
std::vector<TensorSource> sources_of(std::span<const std::pair<std::string, Tensor>> tensors) {
  std::vector<TensorSource> sources;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) throw refused("safetensors: tensor has no bytes", name);
    sources.push_back({name, tensor.dtype(), tensor.shape(), [&tensor = tensor] { return tensor; }});
  }
  return sources;
}

}  // namespace

void write_safetensors(AtomicFile& file, std::span<const TensorSource> tensors, const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(tensors, metadata);
  file.write(little_endian(header.size()));
  file.write(header);
  for (const TensorSource& source : tensors) {
    const Tensor tensor = source.make();
    if (!tensor.defined() || tensor.dtype() != source.dtype || tensor.shape() != source.shape) {
      throw Error(ErrorCode::internal, "safetensors: tensor is another than announced",
                  {{"tensor", source.name}, {"want", source.shape.to_string()}, {"got", tensor.shape().to_string()}});
    }
    file.write(tensor.byte_span());
  }
}

void write_safetensors(const std::filesystem::path& path, std::span<const std::pair<std::string, Tensor>> tensors,
                       const std::map<std::string, std::string>& metadata) {
  try {
    const std::vector<TensorSource> sources = sources_of(tensors);
    AtomicFile file = AtomicFile::create(path);
    write_safetensors(file, sources, metadata);
    file.commit();
  } catch (const Error& error) {
    if (!error.find("file").empty()) throw;
    throw error.with("file", path.string());
  }
}

}  // namespace veneer::formats
