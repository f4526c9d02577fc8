#include "server/http/router.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "server/http/url.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (true) {
    const size_t slash = path.find('/');
    segments.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool is_name(const std::string& segment) { return segment.starts_with('{'); }
bool is_tail(const std::string& segment) { return segment.ends_with("...}"); }

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path, std::vector<std::string>& parts) {
  parts.clear();
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (i >= path.size()) return false;
    if (is_tail(pattern[i])) {
      std::string tail = path[i];
      for (size_t rest = i + 1; rest < path.size(); ++rest) tail += "/" + path[rest];
      parts.push_back(percent_decode(tail));
      return true;
    }
    if (is_name(pattern[i])) {
      if (path[i].empty()) return false;
      parts.push_back(percent_decode(path[i]));
    } else if (pattern[i] != path[i]) {
      return false;
    }
  }
  return pattern.size() == path.size();
}

unsigned status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return 404;
    case ErrorCode::invalid:
    case ErrorCode::corrupt: return 400;
    case ErrorCode::unsupported: return 415;
    case ErrorCode::no_memory:
    case ErrorCode::cancelled: return 503;
    case ErrorCode::internal: break;
  }
  return 500;
}

// What a file system that is full, or names that it cannot take, come to; nothing for other faults.
std::optional<Response> storage_response(const std::error_condition& fault) {
  if (fault == std::errc::no_space_on_device || fault.value() == EDQUOT) {
    return error_response(507, "storage", "The disk is full: the file was not written");
  }
  if (fault == std::errc::filename_too_long) return error_response(400, "invalid_request", "The name is too long for a file");
  return std::nullopt;
}

// The fault that the text of a file's Error tells of.
std::error_condition fault_of(const Error& error) {
  for (const int number : {ENOSPC, EDQUOT, ENAMETOOLONG}) {
    if (error.find("reason") == std::generic_category().message(number)) return {number, std::generic_category()};
  }
  return {};
}

}  // namespace

void Router::add(std::string_view method, std::string_view pattern, Handler handler) {
  Route route{std::string(method), split(pattern), std::move(handler)};
  std::vector<Route>& routes = by_first_[route.segments.front()];
  // Literal ones first.
  const auto names = [](const Route& r) { return std::count_if(r.segments.begin(), r.segments.end(), is_name); };
  const auto at = std::find_if(routes.begin(), routes.end(), [&](const Route& r) { return names(r) > names(route); });
  routes.insert(at, std::move(route));
}

const Router::Route* Router::find(Request& request, std::string& allowed) const {
  const std::vector<std::string> path = split(request.path);
  const auto routes = by_first_.find(path.front());
  if (routes == by_first_.end()) return nullptr;
  std::vector<std::string> parts;
  for (const Route& route : routes->second) {
    if (!matches(route.segments, path, parts)) continue;
    if (route.method == request.method) {
      request.parts = std::move(parts);
      return &route;
    }
    allowed += (allowed.empty() ? "" : ",") + route.method + (route.method == "GET" ? ",HEAD" : "");
  }
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> Router::routes() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [first, routes] : by_first_) {
    for (const Route& route : routes) {
      std::string pattern;
      for (const std::string& segment : route.segments) pattern += "/" + segment;
      all.emplace_back(route.method, std::move(pattern));
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return std::tie(a.second, a.first) < std::tie(b.second, b.first); });
  return all;
}

Response Router::dispatch(Request& request) const {
  if (request.method == "OPTIONS") return empty_response();
  std::string allowed;
  if (const Route* route = find(request, allowed)) return route->handler(request);
  // A path that knows POST only is, for GET, a file that is not there.
  if (request.method == "GET" && fallback_) return fallback_(request);
  if (request.method == "GET") return error_response(404, "not_found", "There is nothing at this address", request.path);
  Response response = error_response(405, "method_not_allowed", "This address does not take the method", request.method);
  response.set("Allow", allowed.empty() ? "GET,HEAD" : allowed);
  return response;
}

Response Router::handle(Request& request) const {
  try {
    return dispatch(request);
  } catch (const HttpError& error) {
    return error.response();
  } catch (const Error& error) {
    if (std::optional<Response> response = storage_response(fault_of(error))) return std::move(*response);
    return error_response(status_of(error.code()), to_string(error.code()), error.text(), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    if (std::optional<Response> response = storage_response(error.code().default_error_condition())) return std::move(*response);
    return error_response(500, "internal", "The server failed", error.what());
  } catch (const std::bad_alloc&) {
    return error_response(503, "no_memory", "The server is out of memory");
  } catch (const std::exception& error) {
    return error_response(500, "internal", "The server failed", error.what());
  }
}

}  // namespace veneer::server
