// Where model files lie: ComfyUI's folder layout, one or more roots with a folder (or two) per kind of model.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/shard_lists.h"

namespace veneer::registry {

// One kind of model: its folders under a root, in the order in which they are searched, and the file extensions (lower case, with the dot) that
// belong to it. No extension stands for every file. A kind with ".safetensors" has indices of shards, "*.safetensors.index.json", as well.
struct ModelKind {
  std::string name;  // as workflows and the server name it: "checkpoints", "loras", ...
  std::vector<std::string> folders;
  std::vector<std::string> extensions;
};

// The kinds of ComfyUI, sorted by name. Older names ("clip", "unet") are accepted wherever a kind is named: see ModelFolders::kind.
std::span<const ModelKind> default_model_kinds();

// The folders of every kind. A value, cheap to build; looks at the disk only in `list` and `resolve`, at each call, so that new files are seen at
// once. Const members may be called from any thread.
class ModelFolders {
 public:
  // Each root holds one folder per kind ("ROOT/checkpoints"). Roots need not exist. Earlier roots win.
  explicit ModelFolders(std::span<const std::filesystem::path> roots, std::span<const ModelKind> kinds = default_model_kinds());

  // One more folder of a kind, searched after those it has, or before them (`first`); an unknown kind is made, and takes every file. Not to be called
  // while others read.
  void add_folder(std::string_view kind, std::filesystem::path folder, bool first = false);

  // The files that the model at `path` is made of: itself, or the index and its shards. Throws what formats::files_of_model() does.
  std::vector<std::filesystem::path> files(const std::filesystem::path& path) const { return shards_->files(path); }

  // Kinds in order of their names.
  std::vector<std::string> kinds() const;
  // The kind of that name or older name. Throws Error(not_found) naming the nearest kinds.
  const ModelKind& kind(std::string_view name) const;
  // In the order in which they are searched; they need not exist.
  const std::vector<std::filesystem::path>& folders(std::string_view kind) const;

  // The files of a kind as names relative to their folder, with '/' between directories, sorted, each once. Sub-folders are walked through
  // symbolic links as well; ".git" directories, broken links and folders that cannot be read are left out. A model in shards is its index: a
  // shard that an index beside it names is not listed. Kinds that take every file list every file.
  std::vector<std::string> list(std::string_view kind) const;

  // The file of that name. '/' and '\' both separate directories, and repeated ones count as one. Symbolic links are followed wherever they lead.
  // Throws Error(invalid) for a name that is empty, absolute, has a drive letter, a "." or ".." part or a zero byte, or is not of the kind's
  // extensions; Error(not_found) naming kind, name, folders searched and up to three names that are nearest to it.
  std::filesystem::path resolve(std::string_view kind, std::string_view name) const;

  // The same, but nothing where `resolve` says not_found or that the extension is wrong: for names that may be tried with several extensions.
  std::optional<std::filesystem::path> find(std::string_view kind, std::string_view name) const;
  // The name in the folders of "embeddings" that a prompt means, which may have no extension; "" when there is no such file. Throws Error(invalid)
  // for a name that is none.
  std::string embedding_name(std::string_view name) const;

 private:
  struct Place {
    ModelKind kind;
    std::vector<std::filesystem::path> folders;
  };
  const Place& place(std::string_view kind) const;
  std::map<std::string, Place, std::less<>> places_;
  std::shared_ptr<ShardLists> shards_ = std::make_shared<ShardLists>();
};

}  // namespace veneer::registry
