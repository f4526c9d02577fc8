#include "server/http/multipart.h"

#include <algorithm>

#include "server/http/url.h"

namespace veneer::server {
namespace {

constexpr size_t kMaxFields = 64;
constexpr size_t kMaxHeaderBytes = 16 << 10;
constexpr size_t kMaxBoundary = 70;

[[noreturn]] void refuse(const char* rule) { throw HttpError(400, "invalid_form", "The body is not a form", rule); }

// The value of `key` in "form-data; name=\"image\"; filename=\"a.png\"". In quoted text a backslash stands before a character that is meant as it is.
std::string parameter(std::string_view header, std::string_view key, bool& found) {
  found = false;
  size_t at = header.find(';');
  while (at != std::string_view::npos && at < header.size()) {
    ++at;
    const size_t equals = header.find('=', at);
    if (equals == std::string_view::npos) return {};
    const std::string_view name = trimmed(header.substr(at, equals - at));
    std::string value;
    size_t end = equals + 1;
    if (end < header.size() && header[end] == '"') {
      for (++end; end < header.size() && header[end] != '"'; ++end) {
        if (header[end] == '\\' && end + 1 < header.size()) ++end;
        value += header[end];
      }
      end = header.find(';', end);
    } else {
      end = header.find(';', end);
      value = std::string(trimmed(header.substr(equals + 1, end == std::string_view::npos ? end : end - equals - 1)));
    }
    if (equals_ignoring_case(name, key)) {
      found = true;
      return value;
    }
    at = end;
  }
  return {};
}

std::string boundary_of(const Request& request) {
  const std::string_view type = request.header("content-type");
  if (!equals_ignoring_case(type.substr(0, 19), "multipart/form-data")) refuse("the content type must be multipart/form-data");
  bool found = false;
  std::string boundary = parameter(type, "boundary", found);
  if (!found || boundary.empty() || boundary.size() > kMaxBoundary) refuse("the content type has no boundary");
  return boundary;
}

FormField read_headers(std::string_view headers) {
  FormField field;
  bool has_name = false;
  while (!headers.empty()) {
    const std::string_view line = headers.substr(0, headers.find("\r\n"));
    headers.remove_prefix(std::min(headers.size(), line.size() + 2));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) refuse("a part's header has no colon");
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (equals_ignoring_case(name, "content-type")) field.content_type = std::string(value);
    if (!equals_ignoring_case(name, "content-disposition")) continue;
    field.name = parameter(value, "name", has_name);
    bool extended = false;
    std::string encoded = parameter(value, "filename*", extended);
    if (extended && encoded.find("''") != std::string::npos) {
      field.filename = percent_decode(std::string_view(encoded).substr(encoded.find("''") + 2));
      field.is_file = true;
    } else {
      field.filename = parameter(value, "filename", field.is_file);
    }
  }
  if (!has_name) refuse("a part has no name");
  return field;
}

}  // namespace

std::vector<FormField> parse_form(const Request& request) {
  const std::string delimiter = "--" + boundary_of(request);
  std::string_view rest = request.body;
  const size_t first = rest.find(delimiter);
  if (first == std::string_view::npos) refuse("the boundary does not occur");
  rest.remove_prefix(first + delimiter.size());
  const std::string separator = "\r\n" + delimiter;
  std::vector<FormField> fields;
  while (!rest.starts_with("--")) {
    if (!rest.starts_with("\r\n")) refuse("a boundary is not followed by a line end");
    rest.remove_prefix(2);
    const size_t headers_end = rest.find("\r\n\r\n");
    if (headers_end > kMaxHeaderBytes) refuse("a part's headers do not end");  // nowhere at all is past every limit
    FormField field = read_headers(rest.substr(0, headers_end));
    rest.remove_prefix(headers_end + 4);
    const size_t end = rest.find(separator);
    if (end == std::string_view::npos) refuse("a part does not end");
    field.value = rest.substr(0, end);
    rest.remove_prefix(end + separator.size());
    fields.push_back(std::move(field));
    if (fields.size() > kMaxFields) refuse("there are too many parts");
  }
  return fields;
}

const FormField* find_field(const std::vector<FormField>& fields, std::string_view name) {
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const FormField& field) { return field.name == name; });
  return at == fields.end() ? nullptr : &*at;
}

}  // namespace veneer::server
