// RunWatch: what the server does while a job runs and when it has ended: messages, metrics, log, waiters.
#pragma once

#include "jobs/worker.h"
#include "server/compat/web_ui_state.h"
#include "server/log_book.h"
#include "server/metrics.h"
#include "server/waiters.h"
#include "server/ws/hub.h"

namespace veneer::server {

class RunWatch : public jobs::WorkerListener {
 public:
  struct Parts {
    Hub& hub;
    Metrics& metrics;
    LogBook& log;
    Waiters& waiters;
    WebUiState& web_ui;
    int preview_side;
    bool plain_previews;
  };
  explicit RunWatch(Parts parts) : parts_(parts) {}
  std::unique_ptr<graph::ExecutionObserver> started(const jobs::JobPtr& job) override;
  void ended(const jobs::JobPtr& job, const jobs::JobResult& result) override;

 private:
  Parts parts_;
};

}  // namespace veneer::server
