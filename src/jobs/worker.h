// Worker: a thread that runs jobs from the queue, one at a time, on an executor of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "graph/executor.h"
#include "jobs/job_queue.h"

namespace veneer::jobs {

// Told what happens to the jobs of all workers. Calls of one job come one at a time; those of different workers may meet.
class WorkerListener {
 public:
  virtual ~WorkerListener() = default;
  // Watches one run; destroyed after `ended`.
  virtual std::unique_ptr<graph::ExecutionObserver> started(const JobPtr& job) = 0;
  // The result is on its way to the disk and readers of the history will see it.
  virtual void ended(const JobPtr& job, const JobResult& result) = 0;
};

class Worker {
 public:
  struct Parts {
    JobQueue& queue;
    WorkerListener& listener;
    std::unique_ptr<graph::Executor> executor;
    // Called on the worker's thread after each job, e.g. to give memory back.
    std::function<void()> after_job;
    // Called on the worker's thread when results are to be dropped (`release`).
    std::function<void()> on_release;
    // Called on the worker's thread when results were forgotten (`forget`).
    std::function<void()> on_forget;
    // What clients are told of an error's text; empty: all of it. Any thread.
    std::function<std::string(const std::string&)> public_text;
  };
  // Starts the thread. What `parts` refers to has to outlive the worker.
  explicit Worker(Parts parts);
  // The queue must have been stopped, or the destructor waits for it.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Between two jobs, soon: forgets cached results if asked to, then calls on_release. Wakes the queue's workers.
  void release(bool clear_results);
  // Between two jobs, soon: forgets cached results with an output for which `which` says so, then calls on_forget.
  void forget(std::function<bool(const graph::Value&)> which);

 private:
  void run();
  void run_job(const JobPtr& job);
  void release_now();
  void forget_now();

  Parts parts_;
  std::atomic<bool> release_wanted_ = false, clear_wanted_ = false;
  std::mutex mutex_;
  std::vector<std::function<bool(const graph::Value&)>> to_forget_;
  std::thread thread_;
};

}  // namespace veneer::jobs
