// GET /jobs and /jobs/{id}, and cancelling: what newer editors ask for.
#include <array>

#include "graph/json_text.h"
#include "server/comfy/routes.h"
#include "server/http/url.h"

namespace veneer::server {
namespace {

using jobs::JobQueue;
using jobs::JobState;

struct WireState {
  std::string_view name;
  JobState state;
};
// A partial job has completed; its status says what was left out.
constexpr std::array kStates = {WireState{"pending", JobState::queued},      WireState{"in_progress", JobState::running},
                                WireState{"completed", JobState::succeeded}, WireState{"completed", JobState::partial},
                                WireState{"failed", JobState::failed},       WireState{"cancelled", JobState::cancelled}};

std::string_view wire_state(JobState state) {
  for (const WireState& known : kStates) {
    if (known.state == state) return known.name;
  }
  return "";
}

std::vector<JobState> read_states(const std::string& list) {
  std::vector<JobState> states;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view name = trimmed(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(rest.size(), rest.find(',') == std::string_view::npos ? rest.size() : rest.find(',') + 1));
    const size_t before = states.size();
    for (const WireState& known : kStates) {
      if (known.name == name) states.push_back(known.state);
    }
    if (states.size() == before) {
      throw HttpError(400, "invalid_request", "status must be of pending, in_progress, completed, failed, cancelled", std::string(name));
    }
  }
  return states;
}

int64_t count_query(const Request& request, const char* name, int64_t otherwise, int64_t max) {
  const std::string* text = request.find_query(name);
  if (text == nullptr) return otherwise;
  const std::optional<int64_t> value = parse_integer(*text);
  if (!value || *value < 0) throw HttpError(400, "invalid_request", std::string(name) + " must be a whole number, not below 0", *text);
  return std::min(*value, max);
}

Json parsed(const std::string& text) { return text.empty() ? Json() : graph::parse_json(text, {.max_bytes = size_t{256} << 20, .max_depth = 512}); }

// The editor's own graph, which pictures carry.
Json workflow_of(const jobs::JobRow& row) {
  const Json extra = parsed(row.extra);
  const auto info = extra.find("extra_pnginfo");
  if (info == extra.end() || !info->is_object()) return nullptr;
  return info->value("workflow", Json());
}

Json describe(const jobs::JobRow& row) {
  Json job = {{"id", row.id}, {"status", wire_state(row.state)}, {"create_time", row.created_ms}, {"priority", parsed(row.number)}};
  if (row.result.started_ms > 0) job["execution_start_time"] = row.result.started_ms;
  if (row.result.ended_ms > 0) job["execution_end_time"] = row.result.ended_ms;
  if (!row.result.preview.empty()) job["preview_output"] = parsed(row.result.preview);
  job["outputs_count"] = row.result.outputs_count;
  if (!row.result.error.empty()) job["execution_error"] = parsed(row.result.error);
  if (row.state == JobState::partial) job["dropped_outputs"] = parsed(row.dropped);
  if (row.unwritten) job["unwritten"] = true;
  if (row.attempts > 0) job["runs_cut_short"] = row.attempts;
  const Json workflow = workflow_of(row);
  if (workflow.is_object() && workflow.contains("id")) job["workflow_id"] = workflow.at("id");
  return job;
}

Response list_jobs(const Request& request, Services& services) {
  jobs::JobFilter filter;
  if (const std::string* states = request.find_query("status")) filter.states = read_states(*states);
  filter.offset = count_query(request, "offset", 0, std::numeric_limits<int64_t>::max());
  filter.limit = count_query(request, "limit", 200, 1000);
  const std::string* order = request.find_query("sort_order");
  filter.ascending = order != nullptr && *order == "asc";
  int64_t total = 0;
  Json list = Json::array();
  for (const jobs::JobRow& row : services.queue.list(filter, total)) list.push_back(describe(row));
  const bool more = filter.offset + static_cast<int64_t>(list.size()) < total;
  return json_response(
      Json{{"jobs", list}, {"pagination", {{"offset", filter.offset}, {"limit", filter.limit}, {"total", total}, {"has_more", more}}}});
}

Response get_job(const Request& request, Services& services) {
  const auto row = services.queue.find(request.parts.at(0));
  if (!row) throw HttpError(404, "not_found", "There is no such job", request.parts.at(0));
  Json job = describe(*row);
  job["workflow"] = {{"prompt", parsed(row->prompt)}, {"extra_data", parsed(row->extra)}};
  job["outputs"] = parsed(row->result.outputs);
  job["update_time"] = std::max({row->created_ms, row->result.started_ms, row->result.ended_ms});
  job["execution_status"] = parsed(row->result.status);
  job["execution_meta"] = parsed(row->result.meta);
  return json_response(job);
}

Response cancel_job(const std::string& id, Services& services) {
  switch (services.queue.cancel(id)) {
    case JobQueue::CancelAnswer::unknown: throw HttpError(404, "not_found", "There is no such job", id);
    case JobQueue::CancelAnswer::finished: throw HttpError(409, "finished", "The job has finished", id);
    case JobQueue::CancelAnswer::cancelled:
    case JobQueue::CancelAnswer::already_cancelled: break;
  }
  return json_response(Json{{"cancelled", true}});
}

// Jobs that are not there or have finished do not hinder the others.
Response cancel_jobs(const Request& request, Services& services) {
  const Json body = parse_object(request);
  if (!body.contains("job_ids")) throw HttpError(400, "invalid_request", "job_ids is missing");
  Json cancelled = Json::array();
  for (const std::string& id : read_ids(body.at("job_ids"), "job_ids")) {
    const auto answer = services.queue.cancel(id);
    if (answer == JobQueue::CancelAnswer::cancelled || answer == JobQueue::CancelAnswer::already_cancelled) cancelled.push_back(id);
  }
  return json_response(Json{{"cancelled", cancelled}});
}

}  // namespace

void add_job_routes(Router& router, Services& services) {
  router.get("/jobs", [&](const Request& request) { return list_jobs(request, services); });
  router.get("/jobs/{id}", [&](const Request& request) { return get_job(request, services); });
  router.post("/jobs/{id}/cancel", [&](const Request& request) { return cancel_job(request.parts.at(0), services); });
  router.post("/jobs/cancel", [&](const Request& request) { return cancel_jobs(request, services); });
}

}  // namespace veneer::server
