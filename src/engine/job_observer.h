// Watches one run for its caller: passes progress on and gathers what came out.
#pragma once

#include <optional>
#include <string>

#include "base/profile.h"
#include "graph/execution_observer.h"
#include "graph/executor.h"
#include "nodes/services.h"
#include "veneer/job.h"

namespace veneer::engine {

class JobObserver final : public graph::ExecutionObserver {
 public:
  // Both have to outlive the observer.
  // `profile` gets a span for each node that runs; null for none.
  JobObserver(const JobOptions& options, const nodes::ImageFolders& folders, Profile* profile = nullptr)
      : options_(options), folders_(folders), profile_(profile) {}

  void executing(const graph::NodeRef& node) override;
  void progress(const graph::NodeRef& node, const graph::Progress& progress) override;
  void progress_text(const graph::NodeRef& node, const std::string& text) override;
  void executed(const graph::NodeRef& node, const graph::Json& ui, bool cached) override;
  void node_finished(const graph::NodeRef& node, bool cached) override;

  // The result of the run. Throws the Error that ended it, with node and class.
  JobResult finish(const graph::ExecutionResult& run);

 private:
  void begin_span(const graph::NodeRef& node);
  void end_span();
  void tell(ProgressEvent::Kind kind, const graph::NodeRef& node, int step = 0, int steps = 0);

  const JobOptions& options_;
  const nodes::ImageFolders& folders_;
  Profile* profile_;
  std::optional<graph::NodeRef> span_;  // the node at work
  int64_t span_begin_ns_ = 0;
  JobResult result_;
};

}  // namespace veneer::engine
