#include "server/http/message.h"

#include <algorithm>

#include "graph/json_text.h"
#include "jobs/wire.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

// Deeper than any workflow, shallow enough for every recursion.
constexpr graph::JsonLimits kJsonLimits = {.max_bytes = size_t{256} << 20, .max_depth = 64};

const std::string* find_in(const Pairs& pairs, std::string_view name) {
  const auto at = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
  return at == pairs.end() ? nullptr : &at->second;
}

}  // namespace

const std::string* Request::find_query(std::string_view name) const { return find_in(query, name); }

const std::string* Request::find_header(std::string_view name) const { return find_in(headers, name); }

std::string_view Request::header(std::string_view name) const {
  const std::string* value = find_header(name);
  return value == nullptr ? std::string_view() : *value;
}

void Response::set(std::string name, std::string value) {
  for (auto& [known, old] : headers) {
    if (known != name) continue;
    old = std::move(value);
    return;
  }
  headers.emplace_back(std::move(name), std::move(value));
}

const std::string* Response::find(std::string_view name) const { return find_in(headers, name); }

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Request Entity Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 426: return "Upgrade Required";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return "Unknown";
  }
}

Response empty_response(unsigned status) {
  Response response;
  response.status = status;
  return response;
}

Response json_text_response(std::string text, unsigned status) { return text_response(std::move(text), "application/json; charset=utf-8", status); }

Response json_response(const Json& value, unsigned status) { return json_text_response(jobs::wire_text(value), status); }

Response text_response(std::string text, std::string content_type, unsigned status) {
  Response response = empty_response(status);
  response.body = std::move(text);
  response.set("Content-Type", std::move(content_type));
  return response;
}

Response error_response(unsigned status, std::string_view type, std::string_view message, std::string_view details, Json extra) {
  const Json error = {{"type", type}, {"message", message}, {"details", details}, {"extra_info", std::move(extra)}};
  const Json body = {{"error", error}, {"node_errors", Json::object()}};
  Response response = json_response(body, status);
  if (type == "busy") response.set("Retry-After", "1");
  return response;
}

Json parse_body(const Request& request) {
  try {
    return graph::parse_json(request.body, kJsonLimits);
  } catch (const Error& error) {
    throw HttpError(400, "invalid_json", "The body is not JSON", error.what());
  }
}

Json parse_object(const Request& request) {
  Json body = parse_body(request);
  if (!body.is_object()) throw HttpError(400, "invalid_request", "The body must be a JSON object");
  return body;
}

}  // namespace veneer::server
