// Models in memory whose file is another by now.
#include <algorithm>
#include <map>
#include <utility>

#include "nodes/model_store.h"
#include "veneer/error.h"

namespace veneer::nodes {

bool ModelStore::is_model(const std::string& path, const FileIdentities& now) {
  {
    const std::lock_guard lock(shared_->mutex);
    const auto known = shared_->broken.find(path);
    if (known != shared_->broken.end() && known->second == now) return false;
  }
  try {
    const auto file = pin_files(path);
    if (file->being_written()) return false;
    (void)file->read();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported) {
      const std::lock_guard lock(shared_->mutex);
      shared_->broken[path] = now;
    }
    return false;
  }
  const std::lock_guard lock(shared_->mutex);
  shared_->broken.erase(path);
  return true;
}

template <typename Network>
void ModelStore::collect_unbound(const Parts<Network>& parts, std::vector<Unbound>& out) const {
  for (const auto& [id, part] : parts) {
    const auto base = part.base.lock();
    if (!base) continue;
    const bool bound = std::ranges::any_of(shared_->bound, [&](const auto& entry) {
      const PinnedFile& file = *entry.second.model->file;
      return !entry.second.lost && file.identities() == id.files && file.path() == id.path;
    });
    if (bound) continue;
    const auto turn = shared_->turns.find(id.path);
    out.push_back({id, base->identity(), turn != shared_->turns.end() && turn->second != id.turn});
  }
}

ModelStore::Stale ModelStore::take_stale() {
  look_at_bindings();
  Stale out;
  std::vector<Unbound> unbound;
  std::map<std::string, FileIdentities> adapters;
  {
    const std::lock_guard lock(shared_->mutex);
    collect_unbound(shared_->unets, unbound);
    collect_unbound(shared_->clips, unbound);
    collect_unbound(shared_->vaes, unbound);
    adapters = shared_->adapters;
    out.bases = std::exchange(shared_->superseded, {});
  }
  for (const Unbound& each : unbound) {
    const std::optional<FileIdentities> now = each.written ? std::nullopt : identities_now(each.id.path);
    if (!now || (*now != each.id.files && is_model(each.id.path, *now))) out.bases.insert(each.base);
  }
  for (const auto& [path, files] : adapters) {
    if (identities_now(path) != files) out.adapters.push_back(path);
  }
  const std::lock_guard lock(shared_->mutex);
  for (const std::string& path : out.adapters) {
    const auto at = shared_->adapters.find(path);
    if (at != shared_->adapters.end() && at->second == adapters.at(path)) shared_->adapters.erase(at);
  }
  return out;
}

uint64_t ModelStore::mapped_bytes() const {
  const std::lock_guard lock(shared_->mutex);
  uint64_t bytes = 0;
  const auto add = [&](const auto& parts) {
    for (const auto& [id, part] : parts) {
      if (const auto base = part.base.lock()) bytes += base->size_bytes();
    }
  };
  add(shared_->unets);
  add(shared_->clips);
  add(shared_->vaes);
  return bytes;
}

}  // namespace veneer::nodes
