#include "jobs/worker.h"

#include <utility>

#include "jobs/fanout.h"
#include "jobs/run_record.h"

namespace veneer::jobs {

Worker::Worker(Parts parts) : parts_(std::move(parts)), thread_([this] { run(); }) {}

Worker::~Worker() { thread_.join(); }

void Worker::release(bool clear_results) {
  if (clear_results) clear_wanted_ = true;
  release_wanted_ = true;
  parts_.queue.wake();
}

void Worker::run() {
  uint64_t wake_seen = 0;
  while (true) {
    const JobQueue::Next next = parts_.queue.next(wake_seen);
    if (next.stop) return;
    forget_now();
    if (release_wanted_.exchange(false)) release_now();
    if (next.job) run_job(next.job);
  }
}

void Worker::forget(std::function<bool(const graph::Value&)> which) {
  {
    const std::lock_guard lock(mutex_);
    to_forget_.push_back(std::move(which));
  }
  parts_.queue.wake();
}

void Worker::forget_now() {
  std::vector<std::function<bool(const graph::Value&)>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(to_forget_);
  }
  for (const auto& which : all) parts_.executor->forget(which);
  if (!all.empty() && parts_.on_forget) parts_.on_forget();
}

void Worker::release_now() {
  if (clear_wanted_.exchange(false)) parts_.executor->clear();
  if (parts_.on_release) parts_.on_release();
}

void Worker::run_job(const JobPtr& job) {
  const std::unique_ptr<graph::ExecutionObserver> observer = parts_.listener.started(job);
  RunRecord record;
  std::vector<graph::ExecutionObserver*> observers = {&record};
  if (observer) observers.push_back(observer.get());
  Fanout fanout(std::move(observers), parts_.public_text);
  graph::ExecutionRequest request;
  request.prompt_id = job->id;
  request.outputs = job->outputs;
  if (job->extra_data.is_object()) request.extra_pnginfo = job->extra_data.value("extra_pnginfo", graph::Json());
  request.cancel = job->cancel;
  JobResult result;
  try {
    result = record.result(*job, parts_.executor->run(job->prompt, request, fanout));
  } catch (const std::exception& error) {
    // A class that is no longer there, for one: the job was queued by an earlier program.
    const std::string reason = error.what();
    result = failed_result(*job, parts_.public_text ? parts_.public_text(reason) : reason);
  }
  if (parts_.after_job) parts_.after_job();
  parts_.queue.finish(job, result);
  parts_.listener.ended(job, result);
}

}  // namespace veneer::jobs
