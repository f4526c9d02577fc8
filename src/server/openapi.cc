#include "server/openapi.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "server/openapi_texts.h"
#include "veneer/version.h"

namespace veneer::server {
namespace {

struct Query {
  std::string_view path;  // the pattern
  std::string_view name;
  std::string_view type;
};
constexpr std::array kQueries = {Query{"/history", "max_items", "integer"},
                                 Query{"/history", "offset", "integer"},
                                 Query{"/jobs", "status", "string"},
                                 Query{"/jobs", "limit", "integer"},
                                 Query{"/jobs", "offset", "integer"},
                                 Query{"/jobs", "sort_order", "string"},
                                 Query{"/view", "filename", "string"},
                                 Query{"/view", "subfolder", "string"},
                                 Query{"/view", "type", "string"},
                                 Query{"/view", "preview", "string"},
                                 Query{"/view", "channel", "string"},
                                 Query{"/view_metadata/{folder}", "filename", "string"},
                                 Query{"/userdata", "dir", "string"},
                                 Query{"/userdata", "recurse", "boolean"},
                                 Query{"/userdata", "split", "boolean"},
                                 Query{"/userdata", "full_info", "boolean"},
                                 Query{"/v2/userdata", "path", "string"},
                                 Query{"/userdata/{file}", "overwrite", "boolean"},
                                 Query{"/userdata/{file}", "full_info", "boolean"}};

Json parameters_of(const std::string& path) {
  Json parameters = Json::array();
  for (size_t open = path.find('{'); open != std::string::npos; open = path.find('{', open + 1)) {
    const std::string name = path.substr(open + 1, path.find('}', open) - open - 1);
    parameters.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  for (const Query& query : kQueries) {
    if (query.path == path) parameters.push_back({{"name", query.name}, {"in", "query"}, {"required", false}, {"schema", {{"type", query.type}}}});
  }
  return parameters;
}

Json body_of(const std::string& path) {
  const bool form = path.starts_with("/upload/") || path == "/v1/images/edits";
  const bool raw = path.starts_with("/userdata/");
  Json schema = raw ? Json{{"type", "string"}} : body_schema_of(path);
  if (form) schema["properties"] = {{"image", {{"type", "string"}, {"format", "binary"}}}};
  const char* type = form ? "multipart/form-data" : raw ? "application/octet-stream" : "application/json";
  return {{"content", {{type, {{"schema", std::move(schema)}}}}}};
}

}  // namespace

Json openapi(const Router& router) {
  const Json error = {{"description", "an error"}, {"content", {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}};
  Json paths = Json::object();
  for (const auto& [method, pattern] : router.routes()) {
    std::string path = pattern;
    const size_t tail = path.find("...}");
    if (tail != std::string::npos) path.erase(tail, 3);
    std::string name = method;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    Json operation = {{"parameters", parameters_of(path)},
                      {"responses", {{"2XX", {{"description", "done"}}}, {"3XX", {{"description", "as before"}}}, {"4XX", error}}}};
    const std::string_view summary = summary_of(method, path);
    if (!summary.empty()) operation["summary"] = summary;
    if (method == "POST" || method == "PATCH") operation["requestBody"] = body_of(path);
    paths[path][name] = std::move(operation);
  }
  const Json schema = {
      {"type", "object"}, {"required", {"error"}}, {"properties", {{"error", {{"type", "object"}}}, {"node_errors", {{"type", "object"}}}}}};
  return {{"openapi", "3.0.3"},
          {"info", {{"title", "Veneer"}, {"version", veneer::version()}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", {{"Error", schema}}}}}};
}

}  // namespace veneer::server
