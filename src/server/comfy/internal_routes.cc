// /internal: what only the editor asks for.
#include <algorithm>

#include "server/comfy/folders.h"
#include "server/comfy/routes.h"
#include "server/http/file_response.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

Json terminal_size() { return {{"cols", 80}, {"rows", 24}}; }

Response logs_text(const Services& services) {
  std::string text;
  for (const LogBook::Entry& entry : services.log.entries()) text += entry.time + " - " + entry.text;
  return json_response(Json(services.public_text(text)));
}

Response logs(const Services& services) {
  Json entries = Json::array();
  for (const LogBook::Entry& entry : services.log.entries()) entries.push_back({{"t", entry.time}, {"m", services.public_text(entry.text)}});
  return json_response(Json{{"entries", entries}, {"size", terminal_size()}});
}

Response subscribe(const Request& request, const Services& services) {
  const Json body = parse_object(request);
  const auto id = body.find("clientId");
  const auto enabled = body.find("enabled");
  if (id == body.end() || !id->is_string() || enabled == body.end()) throw HttpError(400, "invalid_request", "clientId and enabled are needed");
  services.hub.subscribe_logs(id->get<std::string>(), enabled->is_boolean() && enabled->get<bool>());
  return empty_response();
}

Response folder_paths(const Services& services) {
  Json json = Json::object();
  for (const std::string& kind : services.models.kinds()) {
    Json list = Json::array();
    for (const fs::path& folder : services.models.folders(kind)) list.push_back(folder.string());
    json[kind] = std::move(list);
  }
  return json_response(json);
}

// Names of the files directly in the folder, newest first.
Response files(const Request& request, const Services& services) {
  const auto folder = folder_of(services.core, request.parts.at(0));
  if (!folder) throw HttpError(400, "invalid_request", "Invalid directory type", request.parts.at(0));
  std::vector<std::pair<double, std::string>> found;
  std::error_code failed;
  for (fs::directory_iterator at(*folder, failed), end; at != end && !failed; at.increment(failed)) {
    std::error_code ignored;
    const std::string name = at->path().filename().string();
    if (at->is_regular_file(ignored) && !name.starts_with('.')) found.emplace_back(-modified_seconds(at->path()), name);
  }
  std::sort(found.begin(), found.end());
  Json names = Json::array();
  for (const auto& [age, name] : found) names.push_back(name);
  return json_response(names);
}

}  // namespace

void add_internal_routes(Router& router, Services& services) {
  router.get("/internal/logs", [&](const Request&) { return logs_text(services); });
  router.get("/internal/logs/raw", [&](const Request&) { return logs(services); });
  router.add("PATCH", "/internal/logs/subscribe", [&](const Request& request) { return subscribe(request, services); });
  router.get("/internal/folder_paths", [&](const Request&) { return folder_paths(services); });
  router.get("/internal/files/{type}", [&](const Request& request) { return files(request, services); });
}

}  // namespace veneer::server
