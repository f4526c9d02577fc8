#include "registry/library.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "formats/shard_index.h"
#include "registry/nearest_names.h"
#include "veneer/error.h"

namespace veneer::registry {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

std::string with_slashes(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '\\', '/');
  return out;
}

// As the folders list it: one '/' between parts.
std::string listed_name(std::string_view name) {
  std::string out;
  for (const char c : with_slashes(name)) {
    if (c != '/' || (!out.empty() && out.back() != '/')) out += c;
  }
  return out;
}

// Nothing for a name that is on the disk and that no reference can say.
std::optional<fs::path> file_of(const ModelFolders& folders, std::string_view kind, const std::string& name) {
  if (name.find('\\') != std::string::npos) return std::nullopt;
  try {
    return folders.find(kind, name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string hash_of(const std::vector<Library::Part>& parts) {
  std::vector<fs::path> files;
  std::vector<std::string> hashes;
  for (const Library::Part& part : parts) {
    files.push_back(part.file);
    hashes.push_back(part.sha256);
  }
  return formats::sha256_of_model(files, hashes);
}

Error several(std::string_view kind, const ModelReference& reference, const std::vector<std::string>& names) {
  return {ErrorCode::invalid,
          "model: the reference fits several files",
          {{"kind", std::string(kind)}, {"reference", reference.text}, {"files", joined(names)}}};
}

}  // namespace

Library::Library(std::shared_ptr<const ModelFolders> folders, fs::path cache)
    : folders_(std::move(folders)), cache_(std::move(cache)), index_(cache_.empty() ? fs::path() : cache_ / "hashes.sqlite") {}

std::optional<Library::Found> Library::try_find(std::string_view kind, std::string_view text) {
  const ModelReference reference = parse_reference(text);
  if (reference.kind != ModelReference::Kind::hash) {
    if (std::optional<fs::path> file = folders_->find(kind, text)) return Found{listed_name(text), *std::move(file)};
  }
  switch (reference.kind) {
    case ModelReference::Kind::name: return std::nullopt;
    case ModelReference::Kind::version: return find_version(kind, reference);
    case ModelReference::Kind::hash:
    case ModelReference::Kind::cache_key: return find_hash(kind, reference);
    case ModelReference::Kind::broken_hash:
      throw Error(ErrorCode::invalid, "model: sha256: stands before 16 to 64 digits 0-9 a-f", {{"reference", reference.text}});
  }
  return std::nullopt;
}

Library::Found Library::find(std::string_view kind, std::string_view text) {
  if (std::optional<Found> found = try_find(kind, text)) return *std::move(found);
  const ModelReference reference = parse_reference(text);
  const Error::Context context = {{"kind", std::string(kind)}, {"reference", reference.text}};
  switch (reference.kind) {
    case ModelReference::Kind::name:
    case ModelReference::Kind::broken_hash: break;
    case ModelReference::Kind::version:
      throw Error(ErrorCode::not_found, "model: there is no folder of that version", context)
          .with("nearest", joined(nearest_names(with_slashes(text), folders_->list(kind))));
    case ModelReference::Kind::hash:
      throw Error(ErrorCode::not_found, "model: no verified file has this hash", context).with("help", "veneer models verify");
    case ModelReference::Kind::cache_key:
      throw Error(ErrorCode::not_found, "model: there is no file of this name and no verified file with this key", context)
          .with("nearest", joined(nearest_names(text, folders_->list(kind))));
  }
  fs::path file = folders_->resolve(kind, text);  // says why not
  return {listed_name(text), std::move(file)};
}

std::optional<Library::Found> Library::find_version(std::string_view kind, const ModelReference& reference) const {
  const std::string folder = listed_name(reference.text) + "/";
  std::vector<std::string> names;
  for (std::string& name : folders_->list(kind)) {
    if (name.starts_with(folder)) names.push_back(std::move(name));
  }
  if (names.empty()) return std::nullopt;
  if (names.size() > 1) throw several(kind, reference, names);
  return Found{names.front(), folders_->resolve(kind, names.front())};
}

// Canonical path -> hash of files, also of indices, that fit by their own hash.
std::map<std::string, std::string> Library::known_places(const ModelReference& reference) {
  std::map<std::string, std::string> places;
  for (const HashIndex::Row& row : index_.find(reference.hash)) {
    if (index_.still_valid(row)) places[row.path] = row.sha256;
  }
  return places;
}

std::optional<Library::Found> Library::find_hash(std::string_view kind, const ModelReference& reference) {
  const std::map<std::string, std::string> places = known_places(reference);
  std::optional<Found> found;
  std::set<std::string> hashes;
  std::vector<std::string> names;
  for (const std::string& name : folders_->list(kind)) {
    const bool sharded = formats::is_index_name(name);
    if (places.empty() && !sharded) continue;
    std::error_code unknown;
    const std::optional<fs::path> file = file_of(*folders_, kind, name);
    if (!file || (!reference.stem.empty() && stem_of_model(fs::canonical(*file, unknown).filename().string()) != reference.stem)) continue;
    std::string hash;
    if (sharded) {
      hash = known_or_empty(*file);  // an index alone is not the model
    } else if (const auto place = places.find(fs::canonical(*file, unknown).string()); place != places.end()) {
      hash = place->second;
    }
    if (!hash.starts_with(reference.hash) || hash.empty()) continue;
    hashes.insert(hash);
    names.push_back(name);
    if (!found) found = Found{name, *file};
  }
  // Copies of one content are one model.
  if (hashes.size() > 1) throw several(kind, reference, names);
  return found;
}

std::shared_ptr<const ModelFacts> Library::facts(const fs::path& file) {
  const std::vector<FileIdentity> ids = identify_all(folders_->files(file));
  {
    const std::lock_guard lock(mutex_);
    const auto it = facts_.find(file);
    if (it != facts_.end() && it->second.identities == ids) return it->second.facts;
  }
  auto fresh = std::make_shared<const ModelFacts>(recognise(read_header(file)));
  const std::lock_guard lock(mutex_);
  facts_[file] = {ids, fresh};
  return fresh;
}

std::optional<std::string> Library::known_hash(const fs::path& file) {
  const std::vector<fs::path> files = folders_->files(file);
  std::vector<std::string> hashes;
  for (const fs::path& part : files) {
    std::optional<std::string> known = index_.known(part);
    if (!known) return std::nullopt;
    hashes.push_back(*std::move(known));
  }
  return formats::sha256_of_model(files, hashes);
}

std::string Library::known_or_empty(const fs::path& file) {
  try {
    return known_hash(file).value_or("");
  } catch (const Error&) {
    return {};  // a broken index, or one without its shards
  }
}

std::vector<Library::Part> Library::parts(const fs::path& file, const HashIndex::Progress& progress) {
  const std::vector<fs::path> files = folders_->files(file);
  const uint64_t all = size_of_all(files);
  std::vector<Part> out;
  uint64_t done = 0;
  for (const fs::path& part : files) {
    HashIndex::Progress one;
    if (progress) one = [&](uint64_t count, uint64_t) { progress(done + count, all); };
    const uint64_t size = identify(part).size_bytes;
    out.push_back({part, size, index_.hash(part, one)});
    done += size;
  }
  return out;
}

std::string Library::hash(const fs::path& file, const HashIndex::Progress& progress) { return hash_of(parts(file, progress)); }

}  // namespace veneer::registry
