// The wire form of node descriptions: GET /object_info, and `input_config` in validation errors.
#pragma once

#include "graph/environment.h"
#include "graph/json.h"
#include "graph/node_registry.h"

namespace veneer::graph {

// The type as it is written: text, or the list of options for choices of the older form.
Json wire_type(const InputDef& input, const Environment& environment);
// The options object: default, min, max, step, ..., tooltip; {} if there is nothing to say.
Json wire_options(const InputDef& input, const Environment& environment);
// The type as it is compared and shown in messages: "IMAGE,FLOAT", or Python's text of the options for choices of the older form.
// Outputs and inputs of one type have equal text.
std::string type_text(const InputDef& input, const Environment& environment);

// The description of one class, in the member order of the wire.
Json object_info(const NodeDef& def, const Environment& environment);
// All classes. Those whose description fails (a folder cannot be listed, ...) are left out.
Json object_info(const NodeRegistry& registry, const Environment& environment);

}  // namespace veneer::graph
