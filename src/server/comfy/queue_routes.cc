// GET and POST /queue, /interrupt, /free.
#include "graph/json_text.h"
#include "jobs/wire.h"
#include "server/comfy/routes.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

void append_jobs(std::string& text, const std::vector<jobs::JobPtr>& all) {
  text += "[";
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += ", ";
    text += all[i]->wire_text();
  }
  text += "]";
}

Response get_queue(const Services& services) {
  std::string text = "{\"queue_running\": ";
  append_jobs(text, services.queue.running_jobs());
  text += ", \"queue_pending\": ";
  append_jobs(text, services.queue.waiting_jobs());
  return json_text_response(text + "}");
}

bool is_true(const Json& body, const char* member) {
  const auto at = body.find(member);
  return at != body.end() && at->is_boolean() && at->get<bool>();
}

Response post_queue(const Request& request, Services& services) {
  const Json body = parse_object(request);
  if (is_true(body, "clear")) services.queue.clear_waiting();
  const auto ids = body.find("delete");
  if (ids == body.end() || ids->is_string()) return empty_response();
  services.queue.withdraw(read_ids(*ids));
  return empty_response();
}

Response interrupt(const Request& request, Services& services) {
  Json body;
  try {
    if (!request.body.empty()) body = graph::parse_json(request.body);
  } catch (const Error&) {
    // Clients send all sorts of bodies to say "stop".
  }
  if (body.is_array()) throw HttpError(400, "invalid_request", "The body must be a JSON object, or empty");
  std::optional<std::string> id;
  if (body.is_object() && body.contains("prompt_id") && !body.at("prompt_id").is_null()) {
    const Json& given = body.at("prompt_id");
    if (!given.is_string() && !given.is_number()) throw HttpError(400, "invalid_request", "prompt_id must be text or a number");
    // A number as POST /prompt makes it an id.
    id = given.is_string() ? given.get<std::string>() : jobs::wire_text(given);
  }
  const size_t count = services.queue.interrupt(id);
  services.log.info("interrupt", Json{{"prompt_id", id ? Json(*id) : Json()}, {"jobs", count}});
  return empty_response();
}

Response free_memory(const Request& request, Services& services) {
  const Json body = parse_object(request);
  const bool results = is_true(body, "free_memory");
  if (results || is_true(body, "unload_models")) services.release(results);
  return empty_response();
}

}  // namespace

std::vector<std::string> read_ids(const Json& list, const std::string& member) {
  if (!list.is_array()) throw HttpError(400, "invalid_request", member + " must be a list of ids");
  std::vector<std::string> ids;
  for (const Json& id : list) {
    if (id.is_string()) ids.push_back(id.get<std::string>());
  }
  return ids;
}

void add_queue_routes(Router& router, Services& services) {
  router.get("/queue", [&](const Request&) { return get_queue(services); });
  router.post("/queue", [&](const Request& request) { return post_queue(request, services); });
  router.post("/interrupt", [&](const Request& request) { return interrupt(request, services); });
  router.post("/free", [&](const Request& request) { return free_memory(request, services); });
}

}  // namespace veneer::server
