// Which variants running prompts use: marks that hold from the first time a model flows into a node until the prompt ends.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "variant/model_patcher.h"

namespace veneer::variant {

// All prompts' marks. Shared by the engine; all members may be called from any thread.
class ModelUsage {
 public:
  struct InUse {
    std::string source_name;  // of the base
    Fingerprint base;         // identity of the base
    Fingerprint variant;
    size_t prompts = 0;
  };
  // Every variant with a mark, in order of bases and fingerprints.
  std::vector<InUse> in_use() const;
  // Whether a prompt uses any variant of the base.
  bool uses(const BaseModel& base) const;

 private:
  friend class PromptModelTracker;
  struct Key {
    Fingerprint base, variant;
    auto operator<=>(const Key&) const = default;
  };
  void mark(const Key& key, const std::string& source_name);
  // Returns whether that was the variant's last mark.
  bool unmark(const Key& key) noexcept;

  mutable std::mutex mutex_;
  std::map<Key, InUse> marks_;
};

// One per prompt, used by the thread that runs it.
class PromptModelTracker {
 public:
  explicit PromptModelTracker(std::shared_ptr<ModelUsage> usage) : usage_(std::move(usage)) {}
  // Takes the marks away; variants that no prompt uses any longer get their `cleanup`.
  ~PromptModelTracker();
  PromptModelTracker(const PromptModelTracker&) = delete;
  PromptModelTracker& operator=(const PromptModelTracker&) = delete;

  // Marks the variant, and those that run beside it; calls its `pre_run`. A variant that is marked already is passed over. Keeps a clone, so the base
  // lives until the prompt has ended.
  void add(const ModelPatcher& patcher);
  // Variants marked by this prompt, in order of first sight.
  const std::vector<ModelPatcher>& models() const { return models_; }

 private:
  std::shared_ptr<ModelUsage> usage_;
  std::vector<ModelPatcher> models_;
  std::vector<ModelUsage::Key> keys_;  // one per model
};

}  // namespace veneer::variant
