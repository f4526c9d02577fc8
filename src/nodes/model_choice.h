// Inputs that name model files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/node_def.h"
#include "nodes/model_store.h"

namespace veneer::nodes {

// The files of a kind, and names that models are bound to, as the options of a choice.
struct ModelOptions {
  std::string kind;
  std::vector<std::string> operator()(const graph::Environment& environment) const { return environment.get<ModelStore>().names(kind); }
};

// A choice among the files of a kind.
inline graph::InputDef model_choice(const char* name, const char* kind) {
  return graph::InputDef::choice(name, graph::OptionsFunction(ModelOptions{kind}));
}

// The kind of models that an input chooses among; "" for other inputs.
inline std::string_view model_kind_of(const graph::InputDef& input) {
  const auto* options = input.options_from.target<ModelOptions>();
  return options == nullptr ? std::string_view() : std::string_view(options->kind);
}

// Makes the node run again when the file behind its name has changed.
inline void watch_file(graph::NodeDef& node, const char* input, const char* kind) {
  node.change_fingerprint = [input, kind](const graph::Environment& environment, const graph::Inputs& in) -> graph::Json {
    return environment.get<ModelStore>().file_version(kind, in.text(input));
  };
}

}  // namespace veneer::nodes
