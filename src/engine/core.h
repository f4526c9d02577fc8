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

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace veneer::engine
