// What openapi.json says of routes besides their names.
#pragma once

#include <string_view>

#include "graph/json.h"

namespace veneer::server {

// One line; "" for a route that says enough by its name. `pattern` as in openapi.json.
std::string_view summary_of(std::string_view method, std::string_view pattern);

// The schema of a JSON body: {"type": "object", ...}.
graph::Json body_schema_of(std::string_view pattern);

}  // namespace veneer::server
