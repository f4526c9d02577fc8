// Any bytes as what HTTP brings: a form, a query, a path, a range, a host and an origin. The answer is a response, or an HttpError.
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/access.h"
#include "server/http/file_response.h"
#include "server/http/multipart.h"
#include "server/http/router.h"
#include "server/http/url.h"

using namespace veneer::server;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find('\n');
  Request request;
  request.method = "POST";
  request.path = "/" + text.substr(0, cut);
  request.query = parse_query(text.substr(0, cut));
  request.body = cut == std::string::npos ? text : text.substr(cut + 1);
  request.headers = {{"content-type", "multipart/form-data; boundary=" + text.substr(0, std::min<size_t>(cut, 3))},
                     {"host", text.substr(0, cut)},
                     {"origin", "http://" + request.body.substr(0, 64)},
                     {"authorization", "Basic " + text.substr(0, cut)},
                     {"range", "bytes=" + text.substr(0, cut)}};
  try {
    for (const FormField& field : parse_form(request)) {
      if (field.value.size() > request.body.size()) __builtin_trap();
    }
  } catch (const HttpError& error) {
    if (error.response().status != 400) __builtin_trap();
  }
  ServerOptions options;
  options.api_keys = {{"name", "a-key-of-some-length"}};
  static_cast<void>(Access(options).check(request));
  static_cast<void>(file_response(request, "/proc/self/exe", "text/plain"));
  const auto inside = contained("/usr/share", request.path.substr(1));
  if (inside && !inside->string().starts_with("/usr/share")) __builtin_trap();
  Router router;
  router.post("/{a}/b/{rest...}", [](const Request& r) { return json_response(veneer::server::Json(r.parts.size())); });
  static_cast<void>(router.handle(request));
  return 0;
}
