// POST /prompt and what belongs to it.
#include "graph/json_text.h"
#include "server/comfy/prompt_post.h"
#include "server/comfy/routes.h"
#include "server/comfy/submit.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

Response get_prompt(const Services& services) { return json_response(Json{{"exec_info", {{"queue_remaining", services.queue.remaining()}}}}); }

Json accepted(const std::string& id, const Json& number, const Json& node_errors) {
  return Json{{"prompt_id", id}, {"number", number}, {"node_errors", node_errors.empty() ? Json::object() : node_errors}};
}

// The answer to a key that was used before: that of the first time.
std::optional<Response> repeated(Services& services, const Submission& submission) {
  if (submission.idempotency_key.empty()) return std::nullopt;
  const auto row = services.queue.find_idempotent(submission.owner, submission.idempotency_key);
  if (!row) return std::nullopt;
  Response response =
      json_response(accepted(row->id, graph::parse_json(row->number), row->dropped.empty() ? Json::object() : graph::parse_json(row->dropped)));
  response.set("Idempotent-Replay", "true");
  return response;
}

// What POST /prompt would say, without queueing anything.
Response validate_prompt(const Request& request, const Services& services) {
  Submission submission = read_submission(request, parse_body(request), services.core.registry());
  const graph::Validation validation = validate(services, submission);
  if (!acceptable(services, validation)) return refusal(validation);
  return json_response(Json{{"outputs", validation.outputs}, {"node_errors", validation.node_errors}});
}

}  // namespace

Response post_prompt(const Request& request, Services& services, const std::function<Json(const Json& prompt)>& more) {
  services.log.note("got prompt");
  Submission submission = read_submission(request, parse_body(request), services.core.registry());
  if (std::optional<Response> answer = repeated(services, submission)) return *answer;
  graph::Validation validation = validate(services, submission);
  if (!acceptable(services, validation)) {
    // A number is used up even so, as clients that count along expect.
    if (!submission.number) services.queue.take_number(submission.front);
    return refusal(validation);
  }
  const Json further = more ? more(validation.prompt.to_json()) : Json::object();
  Submission key;
  key.idempotency_key = submission.idempotency_key;
  key.owner = submission.owner;
  try {
    const Submitted done = submit(services, std::move(submission), std::move(validation));
    Json answer = accepted(done.job->id, done.job->number, done.node_errors);
    answer.update(further);
    return json_response(answer);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid || error.find("key").empty()) throw;
    // Another request with the key came first meanwhile.
    if (std::optional<Response> answer = repeated(services, key)) return *answer;
    throw;
  }
}

void add_prompt_routes(Router& router, Services& services) {
  router.get("/prompt", [&](const Request&) { return get_prompt(services); });
  router.post("/prompt", [&](const Request& request) { return post_prompt(request, services); });
  router.post("/prompt/validate", [&](const Request& request) { return validate_prompt(request, services); });
}

}  // namespace veneer::server
