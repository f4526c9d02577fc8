// Metrics: counters of what the server does, as Prometheus reads them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "graph/execution_observer.h"
#include "jobs/job.h"

namespace veneer::server {

// Durations in buckets of powers of ten and their halves.
class Histogram {
 public:
  void add(double seconds);
  void write(std::string& out, const std::string& name, const std::string& labels) const;

 private:
  static constexpr std::array<double, 12> kBounds = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800};
  std::array<uint64_t, kBounds.size()> counts_{};
  uint64_t count_ = 0;
  double sum_ = 0;
};

// All members may be called from any thread.
class Metrics {
 public:
  void job_ended(const jobs::Job& job, const jobs::JobResult& result);
  void request(unsigned status);
  void node_ran(const std::string& class_type, double seconds);
  void node_cached();
  void step(double seconds);

  // The counters in Prometheus' text format.
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> jobs_;    // by state
  std::map<unsigned, uint64_t> requests_;   // by status
  std::map<std::string, Histogram> nodes_;  // by class
  Histogram waits_, runs_, steps_;
  uint64_t cached_ = 0, executed_ = 0;
};

// Measures one run.
class RunMetrics : public graph::ExecutionObserver {
 public:
  explicit RunMetrics(Metrics& metrics) : metrics_(metrics) {}
  void executing(const graph::NodeRef& node) override;
  void progress(const graph::NodeRef& node, const graph::Progress& progress) override;
  void node_finished(const graph::NodeRef& node, bool cached) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Times {
    Clock::time_point started, stepped;
  };
  Metrics& metrics_;
  std::unordered_map<std::string, Times> times_;
};

}  // namespace veneer::server
