// Inputs that name model files.
#pragma once

#include "graph/node_def.h"
#include "nodes/model_store.h"

namespace veneer::nodes {

// A choice among the files of a kind.
inline graph::InputDef model_choice(const char* name, const char* kind) {
  return graph::InputDef::choice(name, [kind](const graph::Environment& environment) { return environment.get<ModelStore>().folders().list(kind); });
}

// Makes the node run again when the file behind its name has changed.
inline void watch_file(graph::NodeDef& node, const char* input, const char* kind) {
  node.change_fingerprint = [input, kind](const graph::Environment& environment, const graph::Inputs& in) -> graph::Json {
    return environment.get<ModelStore>().file_version(kind, in.text(input));
  };
}

}  // namespace veneer::nodes
