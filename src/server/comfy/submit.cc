#include "server/comfy/submit.h"

#include <cmath>
#include <cstdlib>

#include "engine/workflow_models.h"
#include "graph/editor/convert_editor.h"
#include "graph/prompt.h"
#include "jobs/uuid.h"
#include "jobs/wire.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

constexpr size_t kMaxId = 512;

// As Python's str() writes the values that a client may give for an id.
std::string id_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return jobs::wire_text(value);
}

double read_number(const Json& value) {
  double number = NAN;
  if (value.is_number()) number = value.get<double>();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    char* end = nullptr;
    number = std::strtod(text.c_str(), &end);
    if (text.empty() || end != text.c_str() + text.size()) number = NAN;
  }
  if (!std::isfinite(number)) throw HttpError(400, "invalid_number", "number must be a finite number", jobs::wire_text(value));
  return number;
}

std::vector<std::string> read_targets(const Json& value) {
  if (!value.is_array()) throw HttpError(400, "invalid_request", "partial_execution_targets must be a list of node ids");
  std::vector<std::string> targets;
  for (const Json& id : value) targets.push_back(id_text(id));
  return targets;
}

// What the editor saves runs like its API form, and goes into the pictures as it was. Where something of it would be lost, it is refused.
void convert_from_editor(Submission& submission, const graph::NodeRegistry& registry) {
  graph::EditorConversion converted;
  try {
    converted = graph::convert_editor_workflow(submission.prompt, registry);
  } catch (const Error& error) {
    throw HttpError(400, "invalid_prompt", "The prompt is in the editor's form and cannot be converted", error.what());
  }
  for (const graph::EditorRemark& remark : converted.remarks) {
    if (remark.loss)
      throw HttpError(400, "invalid_prompt", "The prompt is in the editor's form: export it as API", "node " + remark.node + ": " + remark.text);
  }
  Json& info = submission.extra_data["extra_pnginfo"];
  if (!info.is_object()) info = Json::object();
  if (!info.contains("workflow")) info["workflow"] = submission.prompt;
  submission.prompt = std::move(converted.prompt);
}

std::string read_key(const Request& request, const Json& body) {
  std::string key(request.header("idempotency-key"));
  const auto member = body.find("idempotency_key");
  if (member != body.end() && !member->is_null()) {
    if (!member->is_string()) throw HttpError(400, "invalid_request", "idempotency_key must be text");
    key = member->get<std::string>();
  }
  if (key.size() > kMaxId) throw HttpError(400, "invalid_request", "The idempotency key is too long");
  return key;
}

}  // namespace

Submission read_submission(const Request& request, const Json& body, const graph::NodeRegistry& registry) {
  Submission out;
  out.owner = request.owner;
  const auto missing = [] { return HttpError(400, "no_prompt", "No prompt provided", "No prompt provided"); };
  if (!body.is_object()) throw missing();
  if (body.contains("number")) out.number = read_number(body.at("number"));
  if (body.contains("front")) out.front = body.at("front").is_boolean() && body.at("front").get<bool>();
  if (!body.contains("prompt")) throw missing();
  out.prompt = body.at("prompt");
  if (!out.prompt.is_object() && !out.prompt.is_array()) throw HttpError(400, "invalid_prompt", "The prompt must be an object of nodes");
  if (body.contains("extra_data") && !body.at("extra_data").is_null()) {
    if (!body.at("extra_data").is_object()) throw HttpError(400, "invalid_request", "extra_data must be an object");
    out.extra_data = body.at("extra_data");
  }
  if (graph::is_editor_workflow(out.prompt)) convert_from_editor(out, registry);
  if (body.contains("client_id")) out.extra_data["client_id"] = body.at("client_id");
  const auto client = out.extra_data.find("client_id");
  if (client != out.extra_data.end() && client->is_string()) out.client_id = client->get<std::string>();
  out.prompt_id = body.contains("prompt_id") ? id_text(body.at("prompt_id")) : jobs::make_uuid();
  if (out.prompt_id.size() > kMaxId) throw HttpError(400, "invalid_request", "prompt_id is too long");
  const auto targets = body.find("partial_execution_targets");
  if (targets != body.end() && !targets->is_null()) out.targets = read_targets(*targets);
  out.idempotency_key = read_key(request, body);
  return out;
}

graph::Validation validate(const Services& services, Submission& submission) {
  graph::ValidationOptions options;
  options.targets = submission.targets;
  options.strict = services.options.strict_validation;
  engine::resolve_models(submission.prompt, services.core);
  return graph::validate_prompt(std::move(submission.prompt), services.core.registry(), services.core.environment(), options);
}

bool acceptable(const Services& services, const graph::Validation& validation) {
  if (!validation.ok()) return false;
  return validation.node_errors.empty() || !(services.options.strict_validation || services.options.reject_dropped_outputs);
}

Response refusal(const graph::Validation& validation) {
  Json error = validation.error;
  if (error.is_null()) {
    error = {{"type", "prompt_outputs_failed_validation"},
             {"message", "Prompt outputs failed validation"},
             {"details", "strict validation: every output must be valid"},
             {"extra_info", Json::object()}};
  }
  if (!validation.cycles.empty()) error["extra_info"]["cycles"] = validation.cycles;
  for (const graph::UnknownClass& unknown : validation.unknown_classes) {
    error["extra_info"]["unknown_classes"].push_back(
        {{"node_id", unknown.node_id}, {"class_type", unknown.class_type}, {"nearest", unknown.nearest}});
  }
  return json_response(Json{{"error", error}, {"node_errors", validation.node_errors}}, 400);
}

Submitted submit(Services& services, Submission submission, graph::Validation validation) {
  if (services.draining) throw HttpError(503, "shutting_down", "The server is shutting down");
  jobs::Job job;
  job.id = std::move(submission.prompt_id);
  job.number = submission.number ? Json(*submission.number) : Json(services.queue.take_number(submission.front));
  job.extra_data = std::move(submission.extra_data);
  // Nothing here needs them, and so nobody can read them.
  for (const char* secret : {"auth_token_comfy_org", "api_key_comfy_org"}) job.extra_data.erase(secret);
  job.outputs = std::move(validation.outputs);
  job.client_id = submission.client_id;
  job.owner = submission.owner;
  job.idempotency_key = submission.idempotency_key;
  if (!validation.node_errors.empty()) job.dropped = jobs::wire_text(validation.node_errors);
  job.prompt_text = jobs::wire_text(validation.prompt.to_json());
  job.extra_text = jobs::wire_text(job.extra_data);
  job.outputs_text = jobs::wire_text(Json(job.outputs));
  job.prompt = std::move(validation.prompt);
  try {
    return {services.queue.submit(std::move(job)), std::move(validation.node_errors)};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::no_memory) throw HttpError(429, "queue_full", error.text(), error.what());
    if (error.code() == ErrorCode::cancelled) throw HttpError(503, "shutting_down", error.text());
    if (error.code() == ErrorCode::internal) throw HttpError(503, "storage", error.text(), error.what());
    throw;
  }
}

}  // namespace veneer::server
