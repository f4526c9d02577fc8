// Watches one run for its caller: passes progress on and gathers what came out.
#pragma once

#include <string>

#include "graph/execution_observer.h"
#include "graph/executor.h"
#include "nodes/services.h"
#include "veneer/job.h"

namespace veneer::engine {

class JobObserver final : public graph::ExecutionObserver {
 public:
  // Both have to outlive the observer.
  JobObserver(const JobOptions& options, const nodes::ImageFolders& folders) : options_(options), folders_(folders) {}

  void executing(const graph::NodeRef& node) override;
  void progress(const graph::NodeRef& node, const graph::Progress& progress) override;
  void progress_text(const graph::NodeRef& node, const std::string& text) override;
  void executed(const graph::NodeRef& node, const graph::Json& ui, bool cached) override;
  void node_finished(const graph::NodeRef& node, bool cached) override;

  // The result of the run. Throws the Error that ended it, with node and class.
  JobResult finish(const graph::ExecutionResult& run);

 private:
  void tell(ProgressEvent::Kind kind, const graph::NodeRef& node, int step = 0, int steps = 0);

  const JobOptions& options_;
  const nodes::ImageFolders& folders_;
  JobResult result_;
};

}  // namespace veneer::engine
