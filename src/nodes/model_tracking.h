// The models among the values that flow in a prompt.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "graph/value_tracker.h"
#include "nodes/model_store.h"
#include "variant/prompt_model_tracker.h"

namespace veneer::nodes {

// Counts how often a prompt ran a model as another variant than the prompt before. All members may be called from any thread.
class VariantSwitches {
 public:
  uint64_t count() const { return count_; }
  // The variant that a prompt ran the base as.
  void ran(const Fingerprint& base, const Fingerprint& variant);

 private:
  std::mutex mutex_;
  std::map<Fingerprint, Fingerprint> last_;
  std::atomic<uint64_t> count_ = 0;
};

// Marks MODEL, CLIP and VAE values in `usage`, each from its first use in a prompt until that prompt ends. For as long, the names of models stand for
// what they stood for when its nodes first asked, and no output is kept once one of their files was written to. Of the variants of a base that a
// prompt makes, the last is the one that it runs.
graph::ValueTracking track_models(std::shared_ptr<variant::ModelUsage> usage, std::shared_ptr<ModelStore> models,
                                  std::shared_ptr<VariantSwitches> switches);

}  // namespace veneer::nodes
