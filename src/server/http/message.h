// A request and a response as handlers see them: plain values, no sockets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/json.h"

namespace veneer::server {

using graph::Json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // "GET"; HEAD arrives as GET
  std::string path;    // as sent, without query and without the prefix /api
  Pairs query;         // decoded
  Pairs headers;       // names in lower case
  std::string body;
  std::vector<std::string> parts;  // what stood for the {names} of the route, decoded, in order
  std::string owner;               // name of the API key; "" without keys
  std::function<bool()> gone;      // whether the client has closed the connection; empty: not known. While the handler runs, on its thread.

  // The first of that name, or nullptr.
  const std::string* find_query(std::string_view name) const;
  const std::string* find_header(std::string_view lower_case_name) const;
  // "" where there is none.
  std::string_view header(std::string_view lower_case_name) const;
};

// A part of a file that goes out as it is, read while it is sent.
struct FileBody {
  std::filesystem::path path;
  uint64_t offset = 0;
  uint64_t length = 0;
};

struct Response {
  unsigned status = 200;
  Pairs headers;
  std::string body;
  std::optional<FileBody> file;  // instead of `body`
  bool close = false;            // end the connection afterwards

  void set(std::string name, std::string value);
  const std::string* find(std::string_view name) const;
};

std::string_view reason_of(unsigned status);

// 200 with JSON in the form of ComfyUI's server: ASCII, ", " and ": ".
Response json_response(const Json& value, unsigned status = 200);
Response json_text_response(std::string text, unsigned status = 200);
Response text_response(std::string text, std::string content_type, unsigned status = 200);
// 200 without content.
Response empty_response(unsigned status = 200);

// {"error": {"type", "message", "details", "extra_info"}, "node_errors": {}}: the one form of all errors.
// `extra`: more for programs, as extra_info.
Response error_response(unsigned status, std::string_view type, std::string_view message, std::string_view details = "", Json extra = Json::object());

// Thrown by handlers, and answered with error_response.
class HttpError : public std::exception {
 public:
  HttpError(unsigned status, std::string type, std::string message, std::string details = "", Json extra = Json::object())
      : status_(status), type_(std::move(type)), message_(std::move(message)), details_(std::move(details)), extra_(std::move(extra)) {}
  Response response() const { return error_response(status_, type_, message_, details_, extra_); }
  const char* what() const noexcept override { return message_.c_str(); }
  unsigned status() const { return status_; }

 private:
  unsigned status_;
  std::string type_, message_, details_;
  Json extra_;
};

// The body as JSON of bounded size and depth. Throws HttpError(400) that says where it breaks.
Json parse_body(const Request& request);
// The same, which must be an object.
Json parse_object(const Request& request);

}  // namespace veneer::server
