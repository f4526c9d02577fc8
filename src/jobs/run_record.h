// RunRecord: gathers, while a job runs, what its entry in the history will say.
#pragma once

#include <string>
#include <vector>

#include "graph/execution_observer.h"
#include "graph/executor.h"
#include "jobs/job.h"

namespace veneer::jobs {

class RunRecord : public graph::ExecutionObserver {
 public:
  void execution_start(const std::string& prompt_id) override;
  void execution_cached(const std::string& prompt_id, const std::vector<std::string>& nodes) override;
  void execution_error(const graph::ExecutionErrorEvent& error) override;
  void execution_interrupted(const graph::ExecutionInterruptedEvent& event) override;
  void execution_success(const std::string& prompt_id) override;

  // How the job ended, once it has.
  JobResult result(const Job& job, const graph::ExecutionResult& run) const;

 private:
  void add(const char* type, graph::Json data);
  graph::Json messages_ = graph::Json::array();
  graph::Json error_;
};

// The result of a job that could not even be run.
JobResult failed_result(const Job& job, const std::string& reason);

}  // namespace veneer::jobs
