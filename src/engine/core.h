// Core: models, nodes and memory put together. What Engine and the server stand on.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/environment.h"
#include "graph/executor.h"
#include "graph/node_registry.h"
#include "veneer/engine.h"

namespace veneer::nodes {
class ModelStore;
}
namespace veneer::variant {
struct Runtime;
}

namespace veneer::engine {

// Const members may be called from any thread.
class Core {
 public:
  struct Additions {
    std::vector<graph::NodeDef> nodes;  // besides those that Veneer brings along
    bool previews = false;              // samplers show the picture as it comes
  };
  struct Folders {
    std::filesystem::path input, output, temp;
  };

  // Throws Error(invalid) for options that break a rule. Loads no model. Sets the threads and the instruction set of the process.
  explicit Core(const EngineOptions& options, Additions additions);
  explicit Core(const EngineOptions& options) : Core(options, Additions()) {}
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const graph::NodeRegistry& registry() const;
  // Node plug-ins, loaded or refused. Throws nothing for faulty ones; a folder that is not there is an Error(not_found) of the constructor.
  const std::vector<PluginInfo>& plugins() const;
  const graph::Environment& environment() const;
  // Executors share models and weights, and nothing else. The core has to outlive them.
  std::unique_ptr<graph::Executor> make_executor(const graph::ExecutorOptions& options = {}) const;

  const Folders& folders() const;
  nodes::ModelStore& models() const;
  const variant::Runtime& runtime() const;

  // Lets go of ready-to-run weights that nothing uses, down to the budget (`trim`) or all of them (`release`).
  void trim() const;
  void release() const;
  MemoryAccount memory() const;
  // Counts since the start, and what lies in files.
  struct Activity {
    uint64_t variant_switches = 0;                    // a prompt ran a base as another variant than the one before
    uint64_t weights_built = 0, built_bytes = 0;      // made ready to run
    uint64_t weights_evicted = 0, evicted_bytes = 0;  // dropped for others, or to give memory back
    uint64_t mapped_bytes = 0;                        // now: weights of open models, as stored
  };
  Activity activity() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace veneer::engine
