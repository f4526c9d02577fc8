// Adapters with random content for a base, as a loader would hand them to add_patches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "patch/patch_value.h"
#include "variant/base_model.h"

namespace veneer::testing {

using Patches = std::map<std::string, patch::PatchValuePtr, std::less<>>;
// Whether an adapter has something for a weight.
using KeyFilter = std::function<bool(std::string_view key)>;

enum class AdapterKind : uint8_t {
  lora,  // rank 2 with an alpha
  dora,  // the same with a magnitude per output row
  loha,  // rank 2
  diff,  // full differences, of biases and norms too
};

// For every matrix and convolution that the filter takes; the same seed gives the same bytes.
Patches random_adapter(const variant::BaseModel& base, AdapterKind kind, uint32_t seed, const KeyFilter& takes = {});

// Grows the hidden width of every feed-forward by 8 with random values: other shapes of ff.net.0.proj (weight and bias) and of ff.net.2.
Patches grown_feed_forward(const variant::BaseModel& base, uint32_t seed);

// Which weights patches were applied to.
class AppliedLayers {
 public:
  void note(const std::string& key) {
    const std::lock_guard lock(mutex_);
    keys_.insert(key);
  }
  std::set<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(keys_, {});
  }

 private:
  std::mutex mutex_;
  std::set<std::string> keys_;
};

// The same patches, which note in `layers` that they were computed into a weight, or (`as_branch`) checked to run beside one.
Patches counted(const Patches& patches, const std::shared_ptr<AppliedLayers>& layers, bool as_branch = false);

}  // namespace veneer::testing
