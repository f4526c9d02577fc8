#include "patch/key_map.h"

namespace veneer::patch {

void KeyMap::add(std::string name, std::string key) {
  const auto [it, added] = index_.try_emplace(name, entries_.size());
  if (added) {
    entries_.emplace_back(std::move(name), std::move(key));
  } else {
    entries_[it->second].second = std::move(key);
  }
}

const std::string* KeyMap::find(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &entries_[it->second].second;
}

}  // namespace veneer::patch
