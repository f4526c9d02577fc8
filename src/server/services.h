// Services: what handlers work with.
#pragma once

#include <atomic>
#include <functional>

#include "engine/core.h"
#include "engine/hot_swap.h"
#include "engine/model_listing.h"
#include "jobs/job_queue.h"
#include "server/load_gate.h"
#include "server/log_book.h"
#include "server/metrics.h"
#include "server/options.h"
#include "server/picture_gate.h"
#include "server/users/user_store.h"
#include "server/waiters.h"
#include "server/ws/hub.h"

namespace veneer::server {

// References only; all of them may be used from any thread.
struct Services {
  const ServerOptions& options;
  const engine::Core& core;
  const engine::ModelListing& models;
  jobs::JobQueue& queue;
  Hub& hub;
  Metrics& metrics;
  LogBook& log;
  UserStore& users;
  Waiters& waiters;
  PictureGate& pictures;
  engine::HotSwap& swap;
  LoadGate& loads;
  const std::atomic<bool>& draining;  // no new jobs
  // Gives memory back between two jobs, soon: ready-to-run weights, and cached results if asked for.
  std::function<void(bool clear_results)> release;
  // Lets go, between two jobs, of models whose file is another by now.
  std::function<void()> let_go;
  // A text of errors as clients may read it. Answers of 400 and above are made so by themselves.
  std::function<std::string(const std::string&)> public_text;
};

}  // namespace veneer::server
