#include "registry/model_folders.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "formats/shard_index.h"
#include "registry/nearest_names.h"
#include "veneer/error.h"

namespace veneer::registry {
namespace {

namespace fs = std::filesystem;

// Deep enough for any library; ends the walk in directories linked into themselves, which are also recognised by their canonical path.
constexpr int kMaxDepth = 32;

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOlderNames = {{{"clip", "text_encoders"}, {"unet", "diffusion_models"}}};

bool is_of_kind(const ModelKind& kind, std::string_view name) {
  if (kind.extensions.empty()) return true;
  if (formats::is_index_name(name)) return std::ranges::find(kind.extensions, ".safetensors") != kind.extensions.end();
  std::string extension = fs::path(name).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kind.extensions, extension) != kind.extensions.end();
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

// What indices among the files of a directory name and has the name of a shard. A broken index names none: whoever opens it is told.
std::set<std::string> shards_of(const fs::path& directory, const std::vector<std::string>& names, ShardLists& shards) {
  std::set<std::string> out;
  for (const std::string& name : names) {
    if (!formats::is_index_name(name)) continue;
    try {
      const std::vector<fs::path> files = shards.files(directory / name);
      for (size_t i = 1; i < files.size(); ++i) {
        const std::string shard = files[i].filename().string();
        if (formats::is_shard_name(shard)) out.insert(shard);  // an index is not to hide what is a model by its own name
      }
    } catch (const Error&) {
      continue;
    }
  }
  return out;
}

// Walks through the directories of one kind.
class Walk {
 public:
  Walk(const ModelKind& kind, ShardLists& shards) : kind_(kind), shards_(shards) {}

  // Collects the files below `directory`, each as "prefix/name".
  void collect(const fs::path& directory, const std::string& prefix) {
    std::error_code error;
    const fs::path canonical = fs::canonical(directory, error);
    if (error || above_.size() >= kMaxDepth || std::ranges::find(above_, canonical) != above_.end()) return;
    above_.push_back(canonical);
    std::vector<std::string> files;
    fs::directory_iterator entries(directory, fs::directory_options::skip_permission_denied, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      std::string name = entries->path().filename().string();
      std::error_code broken_link;
      const fs::file_status status = entries->status(broken_link);
      if (fs::is_directory(status)) {
        if (name != ".git") collect(entries->path(), prefix + name + "/");
      } else if (fs::is_regular_file(status) && is_of_kind(kind_, name)) {
        files.push_back(std::move(name));
      }
    }
    above_.pop_back();
    const std::set<std::string> shards = kind_.extensions.empty() ? std::set<std::string>() : shards_of(directory, files, shards_);
    for (const std::string& name : files) {
      if (!shards.contains(name)) names_.insert(prefix + name);
    }
  }

  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  const ModelKind& kind_;
  ShardLists& shards_;
  std::vector<fs::path> above_;  // canonical paths from the root down to here
  std::set<std::string> names_;
};

// The name's parts. Lexical only: what a part is on the disk is not looked at.
fs::path checked_relative(std::string_view kind, std::string_view name) {
  const auto refused = [&](std::string text) {
    return Error(ErrorCode::invalid, std::move(text), {{"kind", std::string(kind)}, {"name", std::string(name)}});
  };
  if (name.empty()) throw refused("model: name is empty");
  if (name.find('\0') != std::string_view::npos) throw Error(ErrorCode::invalid, "model: name has a zero byte", {{"kind", std::string(kind)}});
  if (name.front() == '/' || name.front() == '\\') throw refused("model: name is an absolute path");
  if (name.size() >= 2 && name[1] == ':' && std::isalpha(static_cast<unsigned char>(name[0])) != 0) throw refused("model: name has a drive letter");
  fs::path relative;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find_first_of("/\\", begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == "." || part == "..") throw refused("model: name has a '.' or '..' part");
    if (!part.empty()) relative /= part;
    begin = end + 1;
  }
  return relative;
}

}  // namespace

ModelFolders::ModelFolders(std::span<const fs::path> roots, std::span<const ModelKind> kinds) {
  for (const ModelKind& kind : kinds) {
    Place& place = places_[kind.name];
    place.kind = kind;
    for (const fs::path& root : roots) {
      for (const std::string& folder : kind.folders) place.folders.push_back(root / folder);
    }
  }
}

void ModelFolders::add_folder(std::string_view kind, fs::path folder, bool first) {
  for (const auto& [older, name] : kOlderNames) {
    if (kind == older) kind = name;
  }
  Place& place = places_[std::string(kind)];
  place.kind.name = kind;
  if (std::ranges::find(place.folders, folder) != place.folders.end()) return;
  place.folders.insert(first ? place.folders.begin() : place.folders.end(), std::move(folder));
}

std::vector<std::string> ModelFolders::kinds() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const ModelFolders::Place& ModelFolders::place(std::string_view kind) const {
  auto found = places_.find(kind);
  for (const auto& [older, name] : kOlderNames) {
    if (found == places_.end() && kind == older) found = places_.find(name);
  }
  if (found != places_.end()) return found->second;
  throw Error(ErrorCode::not_found, "model: no such kind",
              {{"kind", std::string(kind)}, {"nearest", joined(nearest_names(kind, kinds()))}, {"allowed", joined(kinds())}});
}

const ModelKind& ModelFolders::kind(std::string_view name) const { return place(name).kind; }
const std::vector<fs::path>& ModelFolders::folders(std::string_view kind) const { return place(kind).folders; }

std::vector<std::string> ModelFolders::list(std::string_view kind) const {
  const Place& where = place(kind);
  Walk walk(where.kind, *shards_);
  for (const fs::path& folder : where.folders) walk.collect(folder, "");
  return walk.names();
}

std::optional<fs::path> ModelFolders::find(std::string_view kind, std::string_view name) const {
  const Place& where = place(kind);
  const fs::path relative = checked_relative(kind, name);
  if (!is_of_kind(where.kind, relative.string())) return std::nullopt;
  for (const fs::path& folder : where.folders) {
    std::error_code error;
    fs::path candidate = folder / relative;
    if (fs::is_regular_file(candidate, error)) return candidate;
  }
  return std::nullopt;
}

std::string ModelFolders::embedding_name(std::string_view name) const {
  for (const char* extension : {"", ".safetensors", ".pt", ".bin"}) {
    std::string full = std::string(name) + extension;
    if (find("embeddings", full)) return full;
  }
  return {};
}

fs::path ModelFolders::resolve(std::string_view kind, std::string_view name) const {
  if (std::optional<fs::path> found = find(kind, name)) return *std::move(found);
  const Place& where = place(kind);
  const fs::path relative = checked_relative(kind, name);
  if (!is_of_kind(where.kind, relative.string())) {
    throw Error(ErrorCode::invalid, "model: file is not of this kind",
                {{"kind", std::string(kind)}, {"name", std::string(name)}, {"allowed", joined(where.kind.extensions)}});
  }
  std::vector<std::string> searched;
  for (const fs::path& folder : where.folders) searched.push_back(folder.string());
  throw Error(ErrorCode::not_found, "model: no such file",
              {{"kind", std::string(kind)},
               {"name", std::string(name)},
               {"folders", joined(searched)},
               {"nearest", joined(nearest_names(relative.generic_string(), list(kind)))}});
}

}  // namespace veneer::registry
