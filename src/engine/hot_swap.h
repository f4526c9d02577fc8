// HotSwap: another model under a name, while jobs run.
//
// A load opens the file beside what serves, checks it (readable to the last byte, hashed, of a family that runs here, not being written), makes its
// weights ready within the budget, and only then lets the name stand for it. Jobs that run keep what they began with; it is let go with the last of
// them. What fails before the switch changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/core.h"
#include "graph/value.h"
#include "nodes/model_store.h"

namespace veneer::engine {

struct SwapRequest {
  std::string type;                  // a kind of models, older names too
  std::string name;                  // or a reference by hash, version or cache key
  bool force = false;                // also when the file is the one that is loaded: read, hashed and loaded anew
  std::string expected_sha256 = {};  // "" for none
};

struct SwapOutcome {
  std::string type, name;
  std::string family;          // "" where the kind has none
  std::string sha256;          // of the file
  std::string earlier_sha256;  // of what the name stood for; "" when that is not known
  bool changed = false;        // the name stands for another model object now
  uint64_t size_bytes = 0;     // of the file, with its shards
  uint64_t ready_bytes = 0;    // weights, as stored, that were made ready
};

struct LoadedModel {
  std::string type, name, family;
  std::string sha256;   // "" while it is not known
  std::string version;  // of the model that serves: another one after each change
  uint64_t size_bytes = 0;
  bool serves = true;  // false: its file was written to in place, so that jobs which name it fail
  std::string fault;   // why the file that lies under the name now does not serve; "" when it does
};

// All members may be called from any thread.
class HotSwap {
 public:
  // The core has to outlive it.
  explicit HotSwap(const Core& core) : core_(core) {}

  // Kinds of models that can be loaded.
  static const std::vector<std::string>& types();

  // One at a time for each name; others wait. `stop` is asked while the file is read. Throws Error: invalid with "field" and "allowed" for a type or
  // a name that is none, not_found with the same, invalid with "busy" for a file that is being written or was replaced meanwhile, corrupt and
  // unsupported for one that is no model of the type, invalid with "field" sha256 for another content than was expected, no_memory.
  SwapOutcome load(const SwapRequest& request, const std::function<bool()>& stop = {});
  // The name stands for its file again. False when it was not loaded.
  bool unload(const std::string& type, const std::string& name);
  // In order of types and names.
  std::vector<LoadedModel> loaded() const;

  // Hashes models that took a loaded name by themselves, and makes their weights ready, where nobody waits for it. Files that came under a loaded
  // name and tell a checksum of their tensors are compared with it first, and take the name then. `stop` as in load().
  void complete(const std::function<bool()>& stop);

  // What keeps a model in memory that no name stands for any more: says so of cached values. Empty when there is none such. To be asked from time to
  // time: files also come and go by other hands. Weights that were made with an adapter which is gone or another by now are let go with their last
  // use.
  std::function<bool(const graph::Value&)> stale_values() const;

 private:
  std::shared_ptr<std::mutex> mutex_of(const std::string& name);
  // `request` by the present names of kind and model; the name's mutex is held.
  // With `in_place_of` only while the name stands for that model: somebody may take the name away meanwhile.
  SwapOutcome load_now(const SwapRequest& request, const std::function<bool()>& stop, const nodes::OpenModelPtr& in_place_of = nullptr);
  void complete(const nodes::ModelStore::Binding& binding, const std::function<bool()>& stop);
  const Core& core_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<std::mutex>> names_;
};

}  // namespace veneer::engine
