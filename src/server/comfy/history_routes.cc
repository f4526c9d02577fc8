// GET and POST /history.
#include "jobs/wire.h"
#include "server/comfy/routes.h"
#include "server/http/url.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

// One answer is held in memory whole.
constexpr size_t kMaxAnswerBytes = size_t{256} << 20;

std::optional<int64_t> integer_query(const Request& request, const char* name) {
  const std::string* text = request.find_query(name);
  if (text == nullptr) return std::nullopt;
  const std::optional<int64_t> value = parse_integer(*text);
  if (!value) throw HttpError(400, "invalid_request", std::string(name) + " must be a whole number", *text);
  return value;
}

Response get_history(const Request& request, Services& services) {
  jobs::HistoryRange range{.max = integer_query(request, "max_items"), .offset = integer_query(request, "offset")};
  if (range.offset && *range.offset < 0) range.offset.reset();
  if (range.max && *range.max < 0) range.max = 0;
  std::string text = "{";
  services.queue.history(range, [&](const jobs::JobRow& row) {
    if (text.size() > 1) text += ", ";
    text += jobs::wire_text(row.id) + ": " + row.history_text();
    if (text.size() > kMaxAnswerBytes)
      throw HttpError(400, "too_large", "The history is too large for one answer: ask for it in pieces", "max_items, offset");
  });
  return json_text_response(text + "}");
}

Response get_entry(const Request& request, Services& services) {
  const auto row = services.queue.history_entry(request.parts.at(0));
  if (!row) return json_text_response("{}");
  return json_text_response("{" + jobs::wire_text(row->id) + ": " + row->history_text() + "}");
}

Response post_history(const Request& request, Services& services) {
  const Json body = parse_object(request);
  const auto clear = body.find("clear");
  const auto ids = body.find("delete");
  try {
    if (clear != body.end() && clear->is_boolean() && clear->get<bool>()) services.queue.forget_all();
    if (ids != body.end() && !ids->is_string()) services.queue.forget(read_ids(*ids));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::internal) throw;
    throw HttpError(503, "storage", error.text(), error.what());
  }
  return empty_response();
}

}  // namespace

void add_history_routes(Router& router, Services& services) {
  router.get("/history", [&](const Request& request) { return get_history(request, services); });
  router.get("/history/{id}", [&](const Request& request) { return get_entry(request, services); });
  router.post("/history", [&](const Request& request) { return post_history(request, services); });
}

}  // namespace veneer::server
