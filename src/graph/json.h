// The JSON type of everything that touches the wire: members keep their order, as ComfyUI's clients see them.
#pragma once

#include <nlohmann/json.hpp>

namespace veneer::graph {

// An object's members are a vector: fine for nodes and their inputs, linear for look-ups. Whole prompts are indexed by `Prompt`.
using Json = nlohmann::ordered_json;

}  // namespace veneer::graph
