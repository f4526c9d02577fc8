#include "registry/shard_lists.h"

#include "formats/shard_index.h"

namespace veneer::registry {

std::vector<std::filesystem::path> ShardLists::files(const std::filesystem::path& model) {
  const FileIdentity id = identify(model);
  {
    const std::lock_guard lock(mutex_);
    const auto it = known_.find(model);
    if (it != known_.end() && it->second.identity == id) {
      if (it->second.broken) throw Error(*it->second.broken);
      return it->second.files;
    }
  }
  Known fresh{id, {}, std::nullopt};
  try {
    fresh.files = formats::files_of_model(model);
  } catch (const Error& error) {
    fresh.broken = error;
  }
  std::error_code unknown;
  const std::lock_guard lock(mutex_);
  // Where the shards of a linked index are depends on what lies beside the link.
  const bool is_kept = !std::filesystem::is_symlink(std::filesystem::symlink_status(model, unknown));
  if (is_kept && (fresh.broken || fresh.files.size() > 1)) {
    known_[model] = fresh;
  } else {
    known_.erase(model);
  }
  if (fresh.broken) throw Error(*fresh.broken);
  return fresh.files;
}

}  // namespace veneer::registry
