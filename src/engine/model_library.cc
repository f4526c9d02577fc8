#include "veneer/model_library.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "engine/add_model.h"
#include "registry/extra_model_paths.h"
#include "registry/file_identity.h"
#include "registry/library.h"
#include "registry/nearest_names.h"

namespace veneer {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const registry::ModelFolders> folders_of(const ModelLibraryOptions& options) {
  const std::vector<fs::path> roots(options.model_folders.begin(), options.model_folders.end());
  for (const fs::path& root : roots) {
    if (!fs::is_directory(root)) throw Error(ErrorCode::not_found, "no such model folder", {{"folder", root.string()}});
  }
  auto folders = std::make_shared<registry::ModelFolders>(roots);
  for (const std::string& file : options.extra_model_paths) registry::add_extra_model_paths(*folders, file, options.home_folder);
  return folders;
}

void add_facts(ModelEntry& entry, const registry::ModelFacts& facts) {
  entry.type = facts.type;
  entry.family = facts.family;
  entry.title = facts.title;
  entry.detail = facts.detail;
  entry.format = facts.format;
  entry.dtypes = facts.dtypes;
  entry.num_tensors = facts.num_tensors;
  entry.num_parameters = facts.num_parameters;
  entry.metadata = facts.metadata;
}

// Whether the files of a kind are weights, which a reader of this program has to take.
bool is_weights(const registry::ModelKind& kind) { return std::ranges::find(kind.extensions, ".safetensors") != kind.extensions.end(); }

}  // namespace

struct ModelLibrary::Impl {
  struct Place {
    std::string kind, name;
    fs::path file;
    std::string problem;  // of its name
  };

  explicit Impl(const ModelLibraryOptions& options) : library(folders_of(options), options.cache_folder) {}

  std::vector<Place> places(const std::string& kind) const {
    std::vector<Place> out;
    const registry::ModelFolders& folders = library.folders();
    for (const std::string& each : kind.empty() ? folders.kinds() : std::vector{folders.kind(kind).name}) {
      for (std::string& name : folders.list(each)) out.push_back(place_of(each, std::move(name)));
    }
    return out;
  }

  // One file with an odd name is no reason to say nothing of the others.
  Place place_of(const std::string& kind, std::string name) const {
    Place out{kind, std::move(name), {}, {}};
    if (out.name.find('\\') != std::string::npos) {
      out.problem = "model: no workflow can name a file with a '\\' in its name: rename it";
      return out;
    }
    try {
      out.file = library.folders().resolve(kind, out.name);
    } catch (const Error& error) {
      out.problem = error.what();
    }
    return out;
  }

  // Throws Error(not_found) where there is no folder to look into.
  void require_folders(const std::string& kind) const {
    const registry::ModelFolders& folders = library.folders();
    std::string expected;
    for (const std::string& each : kind.empty() ? folders.kinds() : std::vector{folders.kind(kind).name}) {
      for (const fs::path& folder : folders.folders(each)) {
        std::error_code unknown;
        if (fs::is_directory(folder, unknown)) return;
        expected += (expected.empty() ? "" : ", ") + folder.string();
      }
    }
    throw Error(ErrorCode::not_found, "model: there is no folder of models", {{"expected", "one of " + expected}});
  }

  // A path counts only where no folder has the name.
  Place find(const std::string& reference, const std::string& kind) {
    if (!kind.empty()) {
      const registry::Library::Found found = library.find(kind, reference);
      return {library.folders().kind(kind).name, found.name, found.file, {}};
    }
    std::vector<Place> found;
    std::optional<Error> broken;
    for (const std::string& each : library.folders().kinds()) {
      try {
        if (auto place = library.try_find(each, reference)) found.push_back({each, place->name, place->file, {}});
      } catch (const Error& error) {
        broken = error;
      }
    }
    if (found.size() > 1) {
      std::string kinds;
      for (const Place& place : found) kinds += (kinds.empty() ? "" : ", ") + place.kind;
      throw Error(ErrorCode::invalid, "model: several kinds have it", {{"reference", reference}, {"kinds", kinds}, {"help", "--kind"}});
    }
    if (!found.empty()) return found.front();
    std::error_code unknown;
    if (fs::is_regular_file(reference, unknown)) return {"", reference, reference, {}};
    if (broken) throw Error(*broken);
    nowhere(reference);
  }

  [[noreturn]] void nowhere(const std::string& reference) const {
    std::vector<std::string> names;
    for (const std::string& kind : library.folders().kinds()) {
      for (std::string& name : library.folders().list(kind)) names.push_back(std::move(name));
    }
    std::string nearest;
    for (const std::string& name : registry::nearest_names(reference, names)) nearest += (nearest.empty() ? "" : ", ") + name;
    throw Error(ErrorCode::not_found, "model: no kind has it, and there is no such file", {{"reference", reference}, {"nearest", nearest}});
  }

  ModelEntry entry(const Place& place, bool header) {
    ModelEntry out;
    out.kind = place.kind;
    out.name = place.name;
    out.file = place.file.string();
    out.problem = place.problem;
    if (!out.problem.empty()) return out;
    try {
      out.size_bytes = library.size_bytes(place.file);
      out.sha256 = library.known_hash(place.file).value_or("");
      if (!out.sha256.empty()) out.cache_key = registry::cache_key(place.file.filename().string(), out.sha256);
      if (!header) return out;
      const registry::ModelFacts& facts = *library.facts(place.file);
      add_facts(out, facts);
    } catch (const Error& error) {
      out.problem = error.what();
    }
    return out;
  }

  VerifiedModel verify(const Place& place, const Progress& progress, bool anew = false) {
    VerifiedModel out{place.kind, place.name, place.file.string(), "", "", "", false, place.problem};
    if (!out.problem.empty()) return out;
    registry::HashIndex::Progress one;
    if (progress) one = [&](uint64_t done, uint64_t all) { progress(out.file, done, all); };
    const registry::Library::Verified verified = library.verify(place.file, one, anew);
    out.sha256 = verified.sha256;
    out.cache_key = verified.cache_key;
    out.link = verified.link.string();
    out.was_known = verified.was_known;
    out.problem = verified.problem;
    try {
      if (place.kind.empty() || is_weights(library.folders().kind(place.kind))) library.facts(place.file);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      out.problem = error.what();
    }
    return out;
  }

  registry::Library library;
};

ModelLibrary::ModelLibrary(const ModelLibraryOptions& options) : impl_(std::make_unique<Impl>(options)) {}
ModelLibrary::~ModelLibrary() = default;

std::vector<std::string> ModelLibrary::kinds() const { return impl_->library.folders().kinds(); }

std::vector<ModelEntry> ModelLibrary::list(const std::string& kind, bool headers) const {
  std::vector<ModelEntry> out;
  for (const Impl::Place& place : impl_->places(kind)) out.push_back(impl_->entry(place, headers));
  return out;
}

ModelEntry ModelLibrary::show(const std::string& reference, const std::string& kind) const {
  return impl_->entry(impl_->find(reference, kind), true);
}

std::vector<VerifiedModel> ModelLibrary::verify(const std::vector<std::string>& references, const std::string& kind, const Progress& progress,
                                                bool rehash) const {
  std::vector<Impl::Place> places;
  if (references.empty()) {
    impl_->require_folders(kind);
    places = impl_->places(kind);
  }
  for (const std::string& reference : references) places.push_back(impl_->find(reference, kind));
  std::vector<VerifiedModel> out;
  for (const Impl::Place& place : places) {
    try {
      out.push_back(impl_->verify(place, progress, rehash));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      out.push_back({place.kind, place.name, place.file.string(), "", "", "", false, error.what()});
    }
  }
  return out;
}

VerifiedModel ModelLibrary::add(const AddModelRequest& request, const Progress& progress) const {
  const engine::AddedModel added = engine::add_model(impl_->library, request, progress);
  return impl_->verify({added.kind, added.name, added.file, {}}, progress);
}

ModelLibrary::Collected ModelLibrary::collect() const {
  const registry::Library::Collected collected = impl_->library.collect();
  return {collected.hashes, collected.links};
}

std::string ModelLibrary::notice() const { return impl_->library.notice(); }

}  // namespace veneer
