// multipart/form-data (RFC 7578), as browsers and Python's clients write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace veneer::server {

struct FormField {
  std::string name;
  std::string filename;  // as sent; "" and no `is_file` for text
  bool is_file = false;
  std::string content_type;
  std::string_view value;  // points into the request's body
};

// The fields of the body in order, at most 64. Throws HttpError(400) for another content type, a missing boundary and what does not follow the form.
std::vector<FormField> parse_form(const Request& request);

// The first of that name, or nullptr.
const FormField* find_field(const std::vector<FormField>& fields, std::string_view name);

}  // namespace veneer::server
