// RunMessages: tells a run to the web sockets, in ComfyUI's order.
#pragma once

#include <string>

#include "graph/execution_observer.h"
#include "jobs/job.h"
#include "server/events/progress_book.h"
#include "server/ws/hub.h"

namespace veneer::server {

// Messages go to the client that posted the job. Of a job that nobody owns, only progress, previews and an interruption are told, to all.
class RunMessages : public graph::ExecutionObserver {
 public:
  // `preview_side`: pixels of the longer side of previews; `plain_previews` as in options.h. The hub has to outlive this.
  RunMessages(Hub& hub, const jobs::Job& job, int preview_side, bool plain_previews);
  ~RunMessages() override;

  void execution_start(const std::string& prompt_id) override;
  void execution_cached(const std::string& prompt_id, const std::vector<std::string>& nodes) override;
  void executing(const graph::NodeRef& node) override;
  void progress(const graph::NodeRef& node, const graph::Progress& progress) override;
  void progress_text(const graph::NodeRef& node, const std::string& text) override;
  void executed(const graph::NodeRef& node, const graph::Json& ui, bool cached) override;
  void node_finished(const graph::NodeRef& node, bool cached) override;
  void execution_error(const graph::ExecutionErrorEvent& error) override;
  void execution_interrupted(const graph::ExecutionInterruptedEvent& event) override;
  void execution_success(const std::string& prompt_id) override;

 private:
  // Whether the owner is there.
  bool heard() const { return !client_.empty() && hub_.has(client_); }
  void send(const char* type, const graph::Json& data) const;
  void send_state() const;
  void send_to_owner_or_all(const Outgoing& message) const;

  Hub& hub_;
  const std::string client_, prompt_id_;
  const int preview_side_;
  const bool plain_previews_;
  ProgressBook book_;
};

}  // namespace veneer::server
