#include "engine/verify_checkpoint.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "engine/compare_with_file.h"
#include "engine/open_variant.h"
#include "formats/model_file.h"
#include "formats/sha256.h"
#include "formats/write_model.h"
#include "models/family/checkpoint.h"

namespace veneer::engine {
namespace {

using variant::BaseModel;

// Where tensors that are views into an open file lie in it.
class PlaceFinder {
 public:
  explicit PlaceFinder(const formats::ModelFile& file) : file_(file) {
    for (const formats::ModelFile::Entry& entry : file.entries()) {
      const Tensor tensor = file.tensor(entry.name);
      if (file.place(tensor)) ranges_.push_back({address_of(tensor), address_of(tensor) + tensor.size_bytes(), &entry.name});
    }
    std::ranges::sort(ranges_, {}, &Range::end);
  }

  // The loader renames tensors and takes them, or slices of them, as they are; what it made itself lies elsewhere.
  FilePlaces find(const BaseModel& base) const {
    FilePlaces out;
    for (const auto& [key, tensor] : base.weights()) {
      const std::string* name = name_at(tensor);
      const std::optional<formats::ModelFile::Place> place = file_.place(tensor);
      if (name == nullptr || !place) {
        out.loader_made.push_back(key);
      } else {
        out.places[key] = {*name, place->begin, tensor.size_bytes(), place->file};
      }
    }
    return out;
  }

 private:
  struct Range {
    uintptr_t begin, end;  // addresses
    const std::string* name;
  };

  static uintptr_t address_of(const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.bytes()); }

  // The tensor of the file that the bytes are in, or null.
  const std::string* name_at(const Tensor& tensor) const {
    if (tensor.size_bytes() == 0) return nullptr;
    const uintptr_t begin = address_of(tensor), end = begin + tensor.size_bytes();
    for (auto at = std::ranges::lower_bound(ranges_, end, {}, &Range::end); at != ranges_.end(); ++at) {
      if (at->begin <= begin) return at->name;
    }
    return nullptr;
  }

  const formats::ModelFile& file_;
  std::vector<Range> ranges_;  // by end
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

void check_told(const std::filesystem::path& path, VerifyReport& out) {
  const std::optional<formats::ToldChecksum> told = formats::told_checksum(formats::ModelFile::open(path));
  if (!told || !out.broken_file.empty()) return;
  const std::string tensors = formats::sha256_hex_of_file(path, {}, told->begin);
  if (tensors == told->sha256) return;
  out.broken_file = path.string();
  out.told_sha256 = told->sha256;
  out.tensors_sha256 = tensors;
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

  const formats::ModelFile file = formats::ModelFile::open(out.file);
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
  for (const std::filesystem::path& path : file.files()) check_told(path, out);
  return out;
}

}  // namespace veneer::engine
