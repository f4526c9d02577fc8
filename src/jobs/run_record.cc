#include "jobs/run_record.h"

#include "graph/json_text.h"
#include "jobs/clock.h"
#include "jobs/wire.h"

namespace veneer::jobs {
namespace {

using graph::Json;

Json status_of(bool completed, Json messages) {
  return Json{{"status_str", completed ? "success" : "error"}, {"completed", completed}, {"messages", std::move(messages)}};
}

std::string media_type(const std::string& member) {
  if (member == "audio") return "audio";
  return member == "video" || member == "gifs" ? "video" : "images";
}

// The first file of the records, those that are kept before those that are not.
void find_preview(const std::string& node, const Json& ui, JobResult& result, bool& kept) {
  for (const auto& [member, items] : ui.items()) {
    if (!items.is_array() || member == "animated") continue;
    result.outputs_count += static_cast<int>(items.size());
    for (const Json& item : items) {
      if (kept || !item.is_object() || !item.contains("filename")) continue;
      const bool keeps = item.value("type", "") != "temp";
      if (!result.preview.empty() && !keeps) continue;
      Json preview = item;
      preview["nodeId"] = node;
      preview["mediaType"] = media_type(member);
      result.preview = wire_text(preview);
      kept = keeps;
    }
  }
}

}  // namespace

void RunRecord::add(const char* type, Json data) {
  data["timestamp"] = now_ms();
  messages_.push_back(Json::array({type, std::move(data)}));
}

void RunRecord::execution_start(const std::string& prompt_id) { add("execution_start", Json{{"prompt_id", prompt_id}}); }

void RunRecord::execution_cached(const std::string& prompt_id, const std::vector<std::string>& nodes) {
  add("execution_cached", Json{{"nodes", nodes}, {"prompt_id", prompt_id}});
}

void RunRecord::execution_error(const graph::ExecutionErrorEvent& error) {
  if (!error.fatal) return;
  add("execution_error", error.to_json());
  error_ = messages_.back().back();
}

void RunRecord::execution_interrupted(const graph::ExecutionInterruptedEvent& event) { add("execution_interrupted", event.to_json()); }

void RunRecord::execution_success(const std::string& prompt_id) { add("execution_success", Json{{"prompt_id", prompt_id}}); }

JobResult RunRecord::result(const Job& job, const graph::ExecutionResult& run) const {
  JobResult out;
  out.ended_ms = now_ms();
  switch (run.status) {
    case graph::ExecutionStatus::success: out.state = job.dropped.empty() ? JobState::succeeded : JobState::partial; break;
    case graph::ExecutionStatus::interrupted: out.state = JobState::cancelled; break;
    case graph::ExecutionStatus::error: out.state = JobState::failed; break;
  }
  Json outputs = Json::object();
  Json meta = Json::object();
  bool kept = false;
  for (const graph::UiRecord& record : run.records) {
    outputs[record.node_id] = record.ui;
    meta[record.node_id] = {{"node_id", record.origin.node_id},
                            {"display_node", record.origin.display_node_id},
                            {"parent_node", record.origin.parent_node_id ? Json(*record.origin.parent_node_id) : Json()},
                            {"real_node_id", record.origin.real_node_id}};
    find_preview(record.node_id, record.ui, out, kept);
  }
  out.outputs = wire_text(outputs);
  out.meta = wire_text(meta);
  Json status = status_of(run.status == graph::ExecutionStatus::success, messages_);
  if (out.state == JobState::partial) status["dropped_outputs"] = graph::parse_json(job.dropped);
  if (job.attempts > 0) status["runs_cut_short"] = job.attempts;
  out.status = wire_text(status);
  if (!error_.is_null()) out.error = wire_text(error_);
  return out;
}

JobResult failed_result(const Job& job, const std::string& reason) {
  graph::ExecutionErrorEvent event;
  event.prompt_id = job.id;
  event.exception_message = reason + "\n";
  event.exception_type = "RuntimeError";
  RunRecord record;
  record.execution_error(event);
  graph::ExecutionResult run;
  run.status = graph::ExecutionStatus::error;
  return record.result(job, run);
}

}  // namespace veneer::jobs
