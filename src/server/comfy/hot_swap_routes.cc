// POST /model/load, /model/unload, /workflow/reload, /prompt/queue and GET /model/loaded: other models and workflows while jobs run.
#include <algorithm>

#include "engine/workflow_change.h"
#include "engine/workflow_versions.h"
#include "graph/json_text.h"
#include "server/comfy/prompt_post.h"
#include "server/comfy/routes.h"
#include "server/comfy/submit.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

HttpError field_error(const char* field, const std::string& message, const Json& value, Json allowed = nullptr) {
  Json extra = {{"field", field}, {"value", value}};
  if (!allowed.is_null()) extra["allowed"] = std::move(allowed);
  return {400, "invalid_request", message, field, std::move(extra)};
}

std::string text_field(const Json& body, const char* field, const Json& allowed = nullptr) {
  const auto at = body.find(field);
  if (at == body.end()) throw field_error(field, std::string(field) + " is missing", nullptr, allowed);
  if (!at->is_string() || at->get_ref<const std::string&>().empty()) {
    throw field_error(field, std::string(field) + " must be text that is not empty", *at, allowed);
  }
  return at->get<std::string>();
}

// What is misspelt would be passed over in silence.
void require_known(const Json& body, const Json& members) {
  for (const auto& [name, value] : body.items()) {
    if (std::ranges::find(members, Json(name)) == members.end())
      throw field_error(name.c_str(), name + " is no member of this request", value, members);
  }
}

const Json& load_members() {
  static const Json kMembers = {"model_name", "type", "force_reload", "sha256"};
  return kMembers;
}

// Of POST /prompt, and `previous`.
const Json& reload_members() {
  static const Json kMembers = {"prompt",         "previous", "client_id", "prompt_id", "number", "front", "extra_data", "partial_execution_targets",
                                "idempotency_key"};
  return kMembers;
}

bool flag_field(const Json& body, const char* field) {
  const auto at = body.find(field);
  if (at == body.end() || at->is_null()) return false;
  if (!at->is_boolean()) throw field_error(field, std::string(field) + " must be true or false", *at, Json::array({true, false}));
  return at->get<bool>();
}

std::string hash_field(const Json& body) {
  if (!body.contains("sha256") || body.at("sha256").is_null()) return {};
  std::string hash = text_field(body, "sha256");
  const bool digits = std::ranges::all_of(hash, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (hash.size() != 64 || !digits) throw field_error("sha256", "sha256 must have 64 digits 0-9 a-f", hash);
  return hash;
}

// What went wrong with a model, as clients can read it: the field at fault and what it may be.
HttpError model_error(const Error& error, const Services& services, const std::string& type) {
  unsigned status = 400;
  std::string kind(to_string(error.code()));
  if (error.code() == ErrorCode::not_found) status = 404;
  if (error.code() == ErrorCode::unsupported) status = 415;
  if (error.code() == ErrorCode::no_memory || error.code() == ErrorCode::cancelled) status = 503;
  if (error.code() == ErrorCode::internal) status = 500;
  if (!error.find("busy").empty()) {
    status = 409;
    kind = "file_busy";
  }
  Json extra = Json::object();
  for (const auto& [key, value] : error.context()) {
    if (key != "allowed" && key != "busy") extra[key] = value;
  }
  if (!extra.contains("field")) extra["field"] = "model_name";
  if (extra["field"] == "type") extra["allowed"] = engine::HotSwap::types();
  if (extra["field"] == "model_name" && error.code() == ErrorCode::not_found) extra["allowed"] = services.models.list(type);
  return {status, kind, error.text(), error.what(), std::move(extra)};
}

std::function<bool()> given_up(const Request& request, const Services& services) {
  return [&] { return services.draining || (request.gone && request.gone()); };
}

Response load_model(const Request& request, Services& services) {
  const Json body = parse_object(request);
  require_known(body, load_members());
  const engine::SwapRequest wanted{.type = text_field(body, "type", engine::HotSwap::types()),
                                   .name = text_field(body, "model_name"),
                                   .force = flag_field(body, "force_reload"),
                                   .expected_sha256 = hash_field(body)};
  const LoadGate::Pass pass(services.loads);
  try {
    const engine::SwapOutcome done = services.swap.load(wanted, given_up(request, services));
    services.let_go();
    services.log.info("model loaded", Json{{"type", done.type}, {"name", done.name}, {"sha256", done.sha256}, {"changed", done.changed}});
    return json_response(Json{{"status", done.changed ? "loaded" : "unchanged"},
                              {"model_name", done.name},
                              {"type", done.type},
                              {"family", done.family.empty() ? Json() : Json(done.family)},
                              {"version_hash", done.sha256},
                              {"previous_version_hash", done.earlier_sha256.empty() ? Json() : Json(done.earlier_sha256)},
                              {"size_bytes", done.size_bytes},
                              {"ready_bytes", done.ready_bytes}});
  } catch (const Error& error) {
    services.log.write(LogLevel::warning, "a model was not loaded", Json{{"type", wanted.type}, {"name", wanted.name}, {"reason", error.what()}});
    throw model_error(error, services, wanted.type);
  }
}

Response unload_model(const Request& request, Services& services) {
  const Json body = parse_object(request);
  require_known(body, Json{"model_name", "type"});
  const std::string type = text_field(body, "type", engine::HotSwap::types());
  const std::string name = text_field(body, "model_name");
  bool was_loaded = false;
  try {
    was_loaded = services.swap.unload(type, name);
  } catch (const Error& error) {
    throw model_error(error, services, type);
  }
  if (!was_loaded) {
    Json names = Json::array();
    for (const engine::LoadedModel& model : services.swap.loaded()) names.push_back(model.name);
    throw HttpError(404, "not_found", "This model was not loaded", name, Json{{"field", "model_name"}, {"value", name}, {"allowed", names}});
  }
  services.let_go();
  services.release(false);
  return json_response(Json{{"status", "unloaded"}, {"model_name", name}, {"type", type}});
}

Response loaded_models(const Services& services) {
  Json list = Json::array();
  for (const engine::LoadedModel& model : services.swap.loaded()) {
    list.push_back({{"model_name", model.name},
                    {"type", model.type},
                    {"family", model.family.empty() ? Json() : Json(model.family)},
                    {"version_hash", model.sha256.empty() ? Json() : Json(model.sha256)},
                    {"size_bytes", model.size_bytes},
                    {"serves", model.serves},
                    {"fault", model.fault.empty() ? Json() : Json(services.public_text(model.fault))}});
  }
  return json_response(Json{{"models", list}});
}

Json describe(const engine::WorkflowVersions& versions) {
  Json list = Json::array();
  for (const engine::ModelVersion& model : versions.models) {
    list.push_back({{"node", model.node},
                    {"input", model.input},
                    {"type", model.type},
                    {"model_name", model.name},
                    {"version_hash", model.sha256},
                    {"changed", model.changed}});
  }
  return list;
}

engine::WorkflowVersions versions_of(const Request& request, const Services& services, const Json& prompt) {
  const LoadGate::Pass pass(services.loads);
  try {
    return engine::versions_of(services.core, prompt, given_up(request, services));
  } catch (const Error& error) {
    throw model_error(error, services, "");
  }
}

// A job's prompt: of the id that the request names, else the newest of the client, else none.
Json earlier_prompt(const Json& body, Services& services) {
  const auto parsed = [](const std::string& text) { return graph::parse_json(text, {.max_bytes = size_t{256} << 20, .max_depth = 512}); };
  const auto given = body.find("previous");
  if (given != body.end() && given->is_object()) return *given;
  if (given != body.end() && given->is_string()) {
    const auto row = services.queue.find(given->get<std::string>());
    if (!row) throw HttpError(404, "not_found", "There is no such job", given->get<std::string>(), Json{{"field", "previous"}, {"value", *given}});
    return parsed(row->prompt);
  }
  if (given != body.end() && !given->is_null()) throw field_error("previous", "previous must be a prompt or the id of a job", *given);
  const auto client = body.find("client_id");
  int64_t total = 0;
  jobs::JobFilter newest;
  newest.limit = 50;
  for (const jobs::JobRow& row : services.queue.list(newest, total)) {
    if (client == body.end() || !client->is_string() || row.client_id == client->get<std::string>()) return parsed(row.prompt);
  }
  return nullptr;
}

// Looks at everything first: what fails has changed nothing.
Response reload_workflow(const Request& request, Services& services) {
  Json body = request.body.empty() ? Json::object() : parse_object(request);
  require_known(body, reload_members());
  const Json before = earlier_prompt(body, services);
  if (!body.contains("prompt")) {
    if (before.is_null()) throw field_error("prompt", "prompt is missing, and there is no earlier job whose workflow could be meant", nullptr);
    body["prompt"] = before;
  }
  Submission submission = read_submission(request, body, services.core.registry());
  const graph::Validation validation = validate(services, submission);
  if (!acceptable(services, validation)) return refusal(validation);
  const Json now = validation.prompt.to_json();
  const engine::WorkflowVersions versions = versions_of(request, services, now);
  const auto changed = [&](const std::string& id) {
    return std::ranges::any_of(versions.models, [&](const engine::ModelVersion& model) { return model.node == id && model.changed; });
  };
  const engine::WorkflowChange change = engine::compare_workflows(before, now, changed);
  services.let_go();
  return json_response(Json{{"version_hash", versions.fingerprint},
                            {"node_id_mapping", change.node_ids},
                            {"affected_nodes", change.affected},
                            {"kept_nodes", change.kept},
                            {"models", describe(versions)},
                            {"outputs", validation.outputs},
                            {"node_errors", validation.node_errors.empty() ? Json::object() : validation.node_errors}});
}

// POST /prompt, which says besides what models the prompt is bound to.
Response queue_prompt(const Request& request, Services& services) {
  return post_prompt(request, services, [&](const Json& prompt) {
    const engine::WorkflowVersions versions = versions_of(request, services, prompt);
    return Json{{"version_hash", versions.fingerprint}, {"models", describe(versions)}};
  });
}

}  // namespace

void add_hot_swap_routes(Router& router, Services& services) {
  router.post("/model/load", [&](const Request& request) { return load_model(request, services); });
  router.post("/model/unload", [&](const Request& request) { return unload_model(request, services); });
  router.get("/model/loaded", [&](const Request&) { return loaded_models(services); });
  router.post("/workflow/reload", [&](const Request& request) { return reload_workflow(request, services); });
  router.post("/prompt/queue", [&](const Request& request) { return queue_prompt(request, services); });
}

}  // namespace veneer::server
