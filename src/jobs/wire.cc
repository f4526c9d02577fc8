#include "jobs/wire.h"

#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::jobs {

std::string wire_text(const graph::Json& value) {
  try {
    return graph::dump_json(value);
  } catch (const Error&) {
    return graph::dump_json(graph::Json::parse(value.dump(-1, ' ', true, graph::Json::error_handler_t::replace)));
  }
}

}  // namespace veneer::jobs
