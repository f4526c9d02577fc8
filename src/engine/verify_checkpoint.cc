#include "engine/verify_checkpoint.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/compare_with_file.h"
#include "engine/open_variant.h"
#include "formats/file_descriptor.h"
#include "models/family/checkpoint.h"

namespace veneer::engine {
namespace {

using variant::BaseModel;

// Where tensors that are views into an open file lie in it.
class PlaceFinder {
 public:
  explicit PlaceFinder(const formats::SafetensorsFile& file) : entries_(file.entries()) {
    if (entries_.empty()) return;
    data_ = address_of(file.tensor(entries_.front().name)) - entries_.front().begin;
    // The tensors fill the file from the end of its header to its last byte.
    const uint64_t data_bytes = entries_.back().end;
    const uint64_t file_bytes = formats::open_for_reading(file.name()).size_bytes;
    if (file_bytes < data_bytes) throw Error(ErrorCode::corrupt, "the file was made shorter while it was read", {{"file", file.name()}});
    data_begin_ = file_bytes - data_bytes;
  }

  // The loader renames tensors and takes them, or slices of them, as they are; what it made itself lies elsewhere.
  FilePlaces find(const BaseModel& base) const {
    FilePlaces out;
    for (const auto& [key, tensor] : base.weights()) {
      const auto* entry = entry_at(tensor);
      if (entry == nullptr) {
        out.loader_made.push_back(key);
      } else {
        out.places[key] = {entry->name, data_begin_ + (address_of(tensor) - data_), tensor.size_bytes()};
      }
    }
    return out;
  }

 private:
  static uintptr_t address_of(const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.bytes()); }

  // The entry that the tensor's bytes are in, or null.
  const formats::SafetensorsFile::Entry* entry_at(const Tensor& tensor) const {
    if (tensor.size_bytes() == 0 || address_of(tensor) < data_) return nullptr;
    const uint64_t offset = address_of(tensor) - data_;
    const auto after = std::ranges::upper_bound(entries_, offset, {}, [](const auto& entry) { return entry.end; });
    return after != entries_.end() && tensor.size_bytes() <= after->end - offset ? &*after : nullptr;
  }

  const std::vector<formats::SafetensorsFile::Entry>& entries_;
  uintptr_t data_ = 0;       // where the data part is mapped
  uint64_t data_begin_ = 0;  // where it begins in the file
};

// A part that is in memory, and its content before something was run.
struct Part {
  const char* name;
  std::shared_ptr<const BaseModel> memory;
  std::string fingerprint = {};
};

std::vector<Part> parts_of(const nodes::ModelStore::Checkpoint& loaded) {
  std::vector<Part> parts;
  if (loaded.model) parts.push_back({"unet", loaded.model->patcher.model()});
  if (loaded.clip) parts.push_back({"text_encoder", loaded.clip->patcher.model()});
  if (loaded.vae) parts.push_back({"vae", loaded.vae->patcher.model()});
  return parts;
}

const BaseModel* find_part(const models::LoadedCheckpoint& checkpoint, std::string_view name) {
  if (name == "unet") return checkpoint.unet.base.get();
  if (name == "text_encoder") return checkpoint.clip ? checkpoint.clip->base.get() : nullptr;
  return checkpoint.vae ? checkpoint.vae->base.get() : nullptr;
}

}  // namespace

VerifyReport verify_checkpoint(nodes::ModelStore& models, const std::string& name, const std::function<void()>& between) {
  require_model(models.folders(), "checkpoints", name);
  const nodes::ModelStore::Checkpoint loaded = models.checkpoint(name);
  std::vector<Part> parts = parts_of(loaded);
  VerifyReport out;
  out.model = name;
  out.file = parts.front().memory->source_name();
  if (between) {
    for (Part& part : parts) part.fingerprint = part.memory->content_fingerprint().hex();
    between();
  }

  const formats::SafetensorsFile file = formats::SafetensorsFile::open(out.file);
  const models::LoadedCheckpoint now = models::load_checkpoint(models::tensors_of(file), file.name());
  const PlaceFinder finder(file);
  for (const Part& part : parts) {
    const BaseModel* of_file = find_part(now, part.name);
    VerifiedPart verified = compare_with_file(part.memory->weights(), of_file != nullptr ? finder.find(*of_file) : FilePlaces(), out.file);
    verified.part = part.name;
    verified.architecture = part.memory->architecture();
    verified.fingerprint_before = part.fingerprint;
    verified.fingerprint_after = between ? part.memory->content_fingerprint().hex() : "";
    out.parts.push_back(std::move(verified));
  }
  out.num_unused = now.unused.size();
  return out;
}

}  // namespace veneer::engine
