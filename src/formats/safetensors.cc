#include "formats/safetensors.h"

#include <unordered_map>

#include "formats/mapped_file.h"
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

struct SafetensorsFile::State {
  std::string name;
  std::shared_ptr<const void> owner;
  std::span<const std::byte> data;
  SafetensorsHeader header;
  std::unordered_map<std::string_view, size_t> index_by_name;  // into header.entries
};

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  return parse(bytes, std::move(file), path.string());
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name) {
  if (bytes.size() < kLengthBytes) {
    throw Error(ErrorCode::corrupt, "safetensors: file is shorter than its length field", {{"file", name}, {"bytes", std::to_string(bytes.size())}});
  }
  const uint64_t length = read_length(bytes);
  const Error::Context context = {{"file", name}, {"header_bytes", std::to_string(length)}, {"file_bytes", std::to_string(bytes.size())}};
  if (length > bytes.size() - kLengthBytes) throw Error(ErrorCode::corrupt, "safetensors: header leaves the file", context);
  if (length > kMaxHeaderBytes) throw Error(ErrorCode::corrupt, "safetensors: header is too long", context);

  auto state = std::make_shared<State>();
  const std::span<const std::byte> head = bytes.subspan(kLengthBytes, length);
  state->data = bytes.subspan(kLengthBytes + length);
  state->header = parse_safetensors_header({reinterpret_cast<const char*>(head.data()), head.size()}, state->data.size(), name);
  state->name = std::move(name);
  // Tensors are defined() by having an owner, also when the caller keeps the bytes alive itself.
  state->owner = owner != nullptr ? std::move(owner) : std::make_shared<const char>();
  const std::vector<Entry>& entries = state->header.entries;
  state->index_by_name.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) state->index_by_name.emplace(entries[i].name, i);

  SafetensorsFile file;
  file.state_ = std::move(state);
  return file;
}

const std::string& SafetensorsFile::name() const { return state_->name; }
const std::vector<SafetensorsFile::Entry>& SafetensorsFile::entries() const { return state_->header.entries; }
const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return state_->header.metadata; }
bool SafetensorsFile::contains(std::string_view tensor) const { return state_->index_by_name.contains(tensor); }

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const auto found = state_->index_by_name.find(name);
  if (found == state_->index_by_name.end()) {
    throw Error(ErrorCode::not_found, "safetensors: file has no such tensor", {{"file", state_->name}, {"tensor", std::string(name)}});
  }
  const Entry& entry = state_->header.entries[found->second];
  return Tensor::view(entry.shape, entry.dtype, state_->data.data() + entry.begin, state_->owner);
}

}  // namespace veneer::formats
