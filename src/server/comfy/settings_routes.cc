// /settings and /users.
#include "server/comfy/routes.h"

namespace veneer::server {
namespace {

Response get_setting(const Request& request, const Services& services) {
  const Json settings = services.users.settings(services.users.folder_of(request));
  const auto at = settings.find(request.parts.at(0));
  return json_response(at == settings.end() ? Json() : *at);
}

Response post_settings(const Request& request, const Services& services) {
  const std::filesystem::path folder = services.users.folder_of(request);
  services.users.merge_settings(folder, parse_object(request));
  return empty_response();
}

Response post_setting(const Request& request, const Services& services) {
  const std::filesystem::path folder = services.users.folder_of(request);
  services.users.merge_settings(folder, Json{{request.parts.at(0), parse_body(request)}});
  return empty_response();
}

Response get_users(const Services& services) {
  if (services.users.multi_user()) return json_response(Json{{"storage", "server"}, {"users", services.users.users()}});
  return json_response(Json{{"storage", "server"}, {"migrated", services.users.has_default_folder()}});
}

Response post_user(const Request& request, const Services& services) {
  const Json body = parse_object(request);
  const auto name = body.find("username");
  if (name == body.end() || !name->is_string()) throw HttpError(400, "invalid_request", "username is missing");
  return json_response(services.users.add(name->get<std::string>()));
}

}  // namespace

void add_settings_routes(Router& router, Services& services) {
  router.get("/settings", [&](const Request& request) { return json_response(services.users.settings(services.users.folder_of(request))); });
  router.get("/settings/{id}", [&](const Request& request) { return get_setting(request, services); });
  router.post("/settings", [&](const Request& request) { return post_settings(request, services); });
  router.post("/settings/{id}", [&](const Request& request) { return post_setting(request, services); });
  router.get("/users", [&](const Request&) { return get_users(services); });
  router.post("/users", [&](const Request& request) { return post_user(request, services); });
}

}  // namespace veneer::server
