// JSON text that always comes out.
#pragma once

#include <string>

#include "graph/json.h"

namespace veneer::jobs {

// As graph::dump_json; bytes that are not UTF-8, e.g. of a file's name in an error, become U+FFFD.
std::string wire_text(const graph::Json& value);

}  // namespace veneer::jobs
