#include "server/metrics.h"

#include <cstdio>

namespace veneer::server {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void head(std::string& out, const std::string& name, const char* type, const char* help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

}  // namespace

void Histogram::add(double seconds) {
  for (size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds[i]) ++counts_[i];
  }
  ++count_;
  sum_ += seconds;
}

void Histogram::write(std::string& out, const std::string& name, const std::string& labels) const {
  const std::string before = labels.empty() ? "" : labels + ",";
  for (size_t i = 0; i < kBounds.size(); ++i) {
    out.append(name).append("_bucket{").append(before).append("le=\"").append(number(kBounds[i])).append("\"} ");
    out.append(std::to_string(counts_[i])).append("\n");
  }
  out += name + "_bucket{" + before + "le=\"+Inf\"} " + std::to_string(count_) + "\n";
  const std::string braces = labels.empty() ? "" : "{" + labels + "}";
  out += name + "_sum" + braces + " " + number(sum_) + "\n" + name + "_count" + braces + " " + std::to_string(count_) + "\n";
}

void Metrics::job_ended(const jobs::Job& job, const jobs::JobResult& result) {
  const std::lock_guard lock(mutex_);
  ++jobs_[std::string(to_string(result.state))];
  if (result.started_ms > 0) {
    waits_.add(static_cast<double>(result.started_ms - job.created_ms) / 1000);
    runs_.add(static_cast<double>(result.ended_ms - result.started_ms) / 1000);
  }
}

void Metrics::request(unsigned status) {
  const std::lock_guard lock(mutex_);
  ++requests_[status];
}

void Metrics::node_ran(const std::string& class_type, double seconds) {
  const std::lock_guard lock(mutex_);
  nodes_[class_type].add(seconds);
  ++executed_;
}

void Metrics::node_cached() {
  const std::lock_guard lock(mutex_);
  ++cached_;
}

void Metrics::step(double seconds) {
  const std::lock_guard lock(mutex_);
  steps_.add(seconds);
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  head(out, "veneer_jobs_total", "counter", "Jobs that ended, by how.");
  for (const auto& [state, count] : jobs_) out += "veneer_jobs_total{state=\"" + state + "\"} " + std::to_string(count) + "\n";
  head(out, "veneer_http_requests_total", "counter", "Requests answered, by status.");
  for (const auto& [status, count] : requests_) {
    out += "veneer_http_requests_total{status=\"" + std::to_string(status) + "\"} " + std::to_string(count) + "\n";
  }
  head(out, "veneer_job_wait_seconds", "histogram", "From the post of a job to its start.");
  waits_.write(out, "veneer_job_wait_seconds", "");
  head(out, "veneer_job_run_seconds", "histogram", "From the start of a job to its end.");
  runs_.write(out, "veneer_job_run_seconds", "");
  head(out, "veneer_node_seconds", "histogram", "Runs of nodes, by class.");
  for (const auto& [name, histogram] : nodes_) histogram.write(out, "veneer_node_seconds", "class=\"" + escaped(name) + "\"");
  head(out, "veneer_step_seconds", "histogram", "Between two progress reports of a node.");
  steps_.write(out, "veneer_step_seconds", "");
  head(out, "veneer_nodes_executed_total", "counter", "Nodes that ran.");
  out += "veneer_nodes_executed_total " + std::to_string(executed_) + "\n";
  head(out, "veneer_nodes_cached_total", "counter", "Selected nodes whose result was still there.");
  out += "veneer_nodes_cached_total " + std::to_string(cached_) + "\n";
  return out;
}

void RunMetrics::executing(const graph::NodeRef& node) {
  const auto now = Clock::now();
  times_.try_emplace(node.node_id, Times{now, now});
}

void RunMetrics::progress(const graph::NodeRef& node, const graph::Progress& /*progress*/) {
  const auto at = times_.find(node.node_id);
  if (at == times_.end()) return;
  metrics_.step(seconds_since(at->second.stepped));
  at->second.stepped = Clock::now();
}

void RunMetrics::node_finished(const graph::NodeRef& node, bool cached) {
  if (cached) return metrics_.node_cached();
  const auto at = times_.find(node.node_id);
  if (at == times_.end()) return;
  metrics_.node_ran(node.class_type, seconds_since(at->second.started));
  times_.erase(at);
}

}  // namespace veneer::server
