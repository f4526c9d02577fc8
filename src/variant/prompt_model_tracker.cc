#include "variant/prompt_model_tracker.h"

#include <algorithm>

namespace veneer::variant {

std::vector<ModelUsage::InUse> ModelUsage::in_use() const {
  const std::lock_guard lock(mutex_);
  std::vector<InUse> out;
  out.reserve(marks_.size());
  for (const auto& [key, mark] : marks_) out.push_back(mark);
  return out;
}

bool ModelUsage::uses(const BaseModel& base) const {
  const std::lock_guard lock(mutex_);
  const auto first = marks_.lower_bound(Key{base.identity(), Fingerprint{}});
  return first != marks_.end() && first->first.base == base.identity();
}

void ModelUsage::mark(const Key& key, const std::string& source_name) {
  const std::lock_guard lock(mutex_);
  InUse& mark = marks_[key];
  if (mark.prompts++ == 0) mark = {source_name, key.base, key.variant, 1};
}

bool ModelUsage::unmark(const Key& key) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = marks_.find(key);
  if (--it->second.prompts > 0) return false;
  marks_.erase(it);
  return true;
}

void PromptModelTracker::add(const ModelPatcher& patcher) {
  const ModelUsage::Key key{patcher.model()->identity(), patcher.fingerprint()};
  if (std::find(keys_.begin(), keys_.end(), key) != keys_.end()) return;
  models_.push_back(patcher);
  keys_.reserve(keys_.size() + 1);
  try {
    usage_->mark(key, patcher.model()->source_name());
  } catch (...) {
    models_.pop_back();
    throw;
  }
  keys_.push_back(key);
  models_.back().pre_run();
  for (const ModelPatcher& beside : patcher.get_nested_additional_models()) add(beside);
}

PromptModelTracker::~PromptModelTracker() {
  for (size_t i = keys_.size(); i-- > 0;) {
    if (!usage_->unmark(keys_[i])) continue;
    try {
      models_[i].cleanup();
    } catch (...) {  // NOLINT(bugprone-empty-catch): a prompt ends whatever an extension does
    }
  }
}

}  // namespace veneer::variant
