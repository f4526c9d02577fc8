#include "server/run_watch.h"

#include <array>
#include <cstdio>

#include "jobs/fanout.h"
#include "server/events/messages.h"
#include "server/events/run_messages.h"

namespace veneer::server {
namespace {

using graph::Json;

// What nodes remark, for the log, and how far they are, for those who poll.
class RunLog : public graph::ExecutionObserver {
 public:
  RunLog(LogBook& log, WebUiState& web_ui, std::string prompt_id) : log_(log), web_ui_(web_ui), prompt_id_(std::move(prompt_id)) {}
  void progress(const graph::NodeRef& /*node*/, const graph::Progress& progress) override { web_ui_.progress(prompt_id_, progress); }
  void remark(const graph::NodeRef& node, const std::string& text) override {
    log_.write(LogLevel::warning, text, Json{{"prompt_id", prompt_id_}, {"node", node.node_id}, {"class", node.class_type}});
  }
  void execution_error(const graph::ExecutionErrorEvent& error) override {
    log_.write(LogLevel::error, "a node failed",
               Json{{"prompt_id", prompt_id_}, {"node", error.node_id}, {"class", error.node_type}, {"message", error.exception_message}});
  }

 private:
  LogBook& log_;
  WebUiState& web_ui_;
  const std::string prompt_id_;
};

struct Watched {
  Watched(const RunWatch::Parts& parts, const jobs::Job& job)
      : messages(parts.hub, job, parts.preview_side, parts.plain_previews), metrics(parts.metrics), log(parts.log, parts.web_ui, job.id) {}
  RunMessages messages;
  RunMetrics metrics;
  RunLog log;
};

class WatchedFanout : private Watched, public jobs::Fanout {
 public:
  WatchedFanout(const RunWatch::Parts& parts, const jobs::Job& job)
      : Watched(parts, job), jobs::Fanout(std::vector<graph::ExecutionObserver*>{&messages, &metrics, &log}) {}
};

}  // namespace

std::unique_ptr<graph::ExecutionObserver> RunWatch::started(const jobs::JobPtr& job) {
  parts_.log.write(LogLevel::debug, "job started", Json{{"prompt_id", job->id}, {"nodes", job->prompt.size()}});
  return std::make_unique<WatchedFanout>(parts_, *job);
}

void RunWatch::ended(const jobs::JobPtr& job, const jobs::JobResult& result) {
  parts_.metrics.job_ended(*job, result);
  parts_.waiters.ended(job->id, result);
  parts_.log.write(LogLevel::debug, "job ended", Json{{"prompt_id", job->id}, {"state", to_string(result.state)}});
  if (!job->client_id.empty()) parts_.hub.send(job->client_id, message("executing", Json{{"node", nullptr}, {"prompt_id", job->id}}));
  std::array<char, 64> line{};
  std::snprintf(line.data(), line.size(), "Prompt executed in %.2f seconds", static_cast<double>(result.ended_ms - result.started_ms) * 1e-3);
  parts_.log.note(line.data());
}

}  // namespace veneer::server
