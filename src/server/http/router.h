// Router: from method and path to the handler.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/http/message.h"

namespace veneer::server {

using Handler = std::function<Response(const Request&)>;

// Filled once, then safe from any thread.
class Router {
 public:
  // `pattern`: "/history/{id}"; a {name} stands for one segment, {name...} at the end for all that follow. Literal segments win.
  void add(std::string_view method, std::string_view pattern, Handler handler);
  void get(std::string_view pattern, Handler handler) { add("GET", pattern, std::move(handler)); }
  void post(std::string_view pattern, Handler handler) { add("POST", pattern, std::move(handler)); }
  // For a GET of a path that no route has: files.
  void fallback(Handler handler) { fallback_ = std::move(handler); }

  // Method and pattern of every route.
  std::vector<std::pair<std::string, std::string>> routes() const;

  // Never throws: HttpError becomes its answer, Error one by its code, anything else a 500. Takes `request` to fill its `parts`.
  Response handle(Request& request) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> segments;
    Handler handler;
  };
  Response dispatch(Request& request) const;
  // The route, or nullptr; gathers the methods that the path has.
  const Route* find(Request& request, std::string& allowed) const;

  std::unordered_map<std::string, std::vector<Route>> by_first_;  // first segment
  Handler fallback_;
};

}  // namespace veneer::server
