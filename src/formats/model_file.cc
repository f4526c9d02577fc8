#include "formats/model_file.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "formats/detect_format.h"
#include "formats/gguf.h"
#include "formats/mapped_file.h"
#include "formats/model_contents.h"
#include "formats/safetensors.h"
#include "formats/sharded_file.h"
#include "formats/torch_file.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

ReadModel reader_of(ModelFormat format) {
  switch (format) {
    case ModelFormat::safetensors: return read_safetensors;
    case ModelFormat::torch_zip: return read_torch_zip;
    case ModelFormat::torch_pickle: return read_torch_pickle;
    case ModelFormat::gguf: return read_gguf;
    case ModelFormat::index: break;
  }
  return nullptr;
}

// Checks of sizes know no file.
template <typename Read>
auto named(const std::string& file, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    if (!error.find("file").empty()) throw;
    throw error.with("file", file);
  }
}

bool within(std::span<const std::byte> part, std::span<const std::byte> whole) {
  const std::less_equal<> not_after;
  return !whole.empty() && not_after(whole.data(), part.data()) && not_after(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace

struct ModelFile::State {
  std::string name;
  ModelContents contents;
  std::vector<Entry> entries;
  std::unordered_map<std::string_view, size_t> index_by_name;  // into entries
};

ModelFile ModelFile::make(ModelContents contents, std::string name) {
  auto state = std::make_shared<State>();
  state->name = std::move(name);
  state->contents = std::move(contents);
  state->entries.reserve(state->contents.tensors.size());
  for (StoredTensor& tensor : state->contents.tensors) {
    const DType dtype = tensor.stored.dtype();
    const uint64_t size = storage_bytes(dtype, static_cast<uint64_t>(tensor.shape().num_elements()));
    state->entries.push_back({std::move(tensor.name), dtype, tensor.shape(), size});  // names are kept once: they may be most of a header
  }
  for (size_t i = 0; i < state->entries.size(); ++i) state->index_by_name.emplace(state->entries[i].name, i);
  ModelFile file;
  file.state_ = std::move(state);
  return file;
}

ModelFile ModelFile::open(const std::filesystem::path& path) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  const ReadModel read = reader_of(detect_format(bytes, path.string()));
  if (read == nullptr) return make(read_sharded(bytes, path), path.string());
  ModelContents contents = named(path.string(), [&] { return read(bytes, file, path.string()); });
  formats::drop_pages(bytes);  // those of the header
  contents.sources.push_back({path, bytes});
  return make(std::move(contents), path.string());
}

ModelFile ModelFile::parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name) {
  // Tensors are defined() by having an owner, also when the caller keeps the bytes alive itself.
  if (owner == nullptr) owner = std::make_shared<const char>();
  const ReadModel read = reader_of(detect_format(bytes, name));
  if (read == nullptr) throw Error(ErrorCode::unsupported, "model file: an index needs the files that it names", {{"file", name}});
  ModelContents contents = named(name, [&] { return read(bytes, owner, name); });
  return make(std::move(contents), std::move(name));
}

const std::string& ModelFile::name() const& { return state_->name; }
std::string_view ModelFile::format() const { return state_->contents.format; }
const std::vector<ModelFile::Entry>& ModelFile::entries() const& { return state_->entries; }
const std::map<std::string, std::string>& ModelFile::metadata() const& { return state_->contents.metadata; }
bool ModelFile::contains(std::string_view tensor) const { return state_->index_by_name.contains(tensor); }

Tensor ModelFile::tensor(std::string_view name) const {
  const auto found = state_->index_by_name.find(name);
  if (found == state_->index_by_name.end()) {
    throw Error(ErrorCode::not_found, "model file: no such tensor", {{"file", state_->name}, {"tensor", std::string(name)}});
  }
  const StoredTensor& tensor = state_->contents.tensors[found->second];
  return tensor.layout ? materialise(tensor) : tensor.stored;
}

std::optional<ModelFile::Place> ModelFile::place(const Tensor& tensor) const {
  for (const SourceBytes& source : state_->contents.sources) {
    if (!within(tensor.byte_span(), source.bytes)) continue;
    return Place{source.path, static_cast<uint64_t>(tensor.bytes() - source.bytes.data())};
  }
  return std::nullopt;
}

std::vector<std::filesystem::path> ModelFile::files() const {
  std::vector<std::filesystem::path> out;
  for (const SourceBytes& source : state_->contents.sources) out.push_back(source.path);
  return out;
}

void ModelFile::drop_pages(std::span<const std::byte> bytes) const {
  for (const SourceBytes& source : state_->contents.sources) {
    if (within(bytes, source.bytes)) formats::drop_pages(bytes);
  }
}

}  // namespace veneer::formats
