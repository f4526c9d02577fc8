// Runs workflows with the real nodes, and shows what a user never sees: the latents between them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/block_cache.h"
#include "graph/executor.h"
#include "graph/json.h"
#include "nodes/model_store.h"
#include "nodes/services.h"
#include "tensor/tensor.h"

namespace veneer::testing {

struct WorkflowRun {
  graph::ExecutionResult result;
  std::vector<std::filesystem::path> pictures;  // in the order they were saved
  std::vector<Tensor> latents;                  // one per sampler node, in the order of the file
};

// Keeps models and results between runs, as the engine does.
class WorkflowRunner {
 public:
  WorkflowRunner(const std::filesystem::path& models, nodes::ImageFolders folders, DType dtype);
  ~WorkflowRunner();
  WorkflowRunner(const WorkflowRunner&) = delete;
  WorkflowRunner& operator=(const WorkflowRunner&) = delete;

  // A run that failed is in `result`. Throws Error(invalid) with the validation's JSON for a prompt that is refused.
  WorkflowRun run(graph::Json prompt, const graph::Json& extra_pnginfo = nullptr);

  const graph::NodeRegistry& registry() const { return registry_; }
  const graph::Environment& environment() const { return environment_; }

 private:
  struct CapturedLatents;
  static graph::NodeDef capture_node();

  std::shared_ptr<compute::BlockCache> scratch_;
  std::shared_ptr<nodes::ImageFolders> folders_;
  std::shared_ptr<CapturedLatents> captured_;
  graph::NodeRegistry registry_;
  graph::Environment environment_;
  graph::Executor executor_;
};

}  // namespace veneer::testing
