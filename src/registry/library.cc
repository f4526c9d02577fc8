#include "registry/library.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

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

std::optional<Library::Found> Library::find_hash(std::string_view kind, const ModelReference& reference) {
  std::map<std::string, std::string> places;  // canonical path -> hash
  for (const HashIndex::Row& row : index_.find(reference.hash)) {
    const bool right_name = reference.stem.empty() || fs::path(row.path).stem() == reference.stem;
    if (right_name && index_.still_valid(row)) places[row.path] = row.sha256;
  }
  if (places.empty()) return std::nullopt;
  std::optional<Found> found;
  std::set<std::string> hashes;
  std::vector<std::string> names;
  for (const std::string& name : folders_->list(kind)) {
    std::error_code unknown;
    const std::optional<fs::path> file = file_of(*folders_, kind, name);
    const auto place = file ? places.find(fs::canonical(*file, unknown).string()) : places.end();
    if (place == places.end()) continue;
    hashes.insert(place->second);
    names.push_back(name);
    if (!found) found = Found{name, *file};
  }
  // Copies of one content are one model.
  if (hashes.size() > 1) throw several(kind, reference, names);
  return found;
}

std::shared_ptr<const ModelFacts> Library::facts(const fs::path& file) {
  const FileIdentity id = identify(file);
  {
    const std::lock_guard lock(mutex_);
    const auto it = facts_.find(file);
    if (it != facts_.end() && it->second.identity == id) return it->second.facts;
  }
  auto fresh = std::make_shared<const ModelFacts>(recognise(read_header(file)));
  const std::lock_guard lock(mutex_);
  facts_[file] = {id, fresh};
  return fresh;
}

Library::Verified Library::verify(const fs::path& file, const HashIndex::Progress& progress, bool anew) {
  Verified out;
  const std::optional<std::string> known = index_.known(file);
  out.was_known = known.has_value();
  out.sha256 = index_.hash(file, progress, anew);
  if (known && *known != out.sha256) out.other_before = *known;
  out.cache_key = registry::cache_key(file.filename().string(), out.sha256);
  if (!cache_.empty()) out.link = link_to(file, out.cache_key);
  return out;
}

// Made beside and renamed, so that two processes may do the same at once.
fs::path Library::link_to(const fs::path& file, const std::string& key) const {
  std::error_code error;
  const fs::path target = fs::canonical(file, error);
  const fs::path link = cache_ / "models" / key;
  if (error) return {};
  if (fs::read_symlink(link, error) == target) return link;
  fs::create_directories(link.parent_path(), error);
  std::random_device random;
  const fs::path temporary = link.parent_path() / (key + "." + std::to_string(random()) + ".tmp");
  fs::create_symlink(target, temporary, error);
  if (error) return {};
  fs::rename(temporary, link, error);
  if (!error) return link;
  fs::remove(temporary, error);
  return {};
}

// Without the index every link looks like one to a file that is not known.
void Library::require_index() const {
  const std::string notice = index_.notice();
  if (!notice.empty()) throw Error(ErrorCode::invalid, "index: it cannot be read, so nothing is removed", {{"reason", notice}});
}

Library::Collected Library::collect() {
  Collected out;
  out.hashes = index_.collect();
  require_index();
  if (cache_.empty()) return out;
  std::error_code error;
  std::vector<fs::path> dead;
  for (const auto& entry : fs::directory_iterator(cache_ / "models", error)) {
    if (!entry.is_symlink(error)) continue;
    const fs::path target = fs::read_symlink(entry.path(), error);
    std::optional<std::string> hash;
    if (fs::is_regular_file(target, error)) hash = index_.known(target);
    if (!hash || registry::cache_key(target.filename().string(), *hash) != entry.path().filename().string()) dead.push_back(entry.path());
  }
  require_index();
  for (const fs::path& link : dead) out.links += fs::remove(link, error) ? 1 : 0;
  return out;
}

}  // namespace veneer::registry
