// Short forms that the themes' lists share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/node_def.h"
#include "veneer/error.h"

namespace veneer::nodes {

// The largest width or height that a node accepts, in pixels.
inline constexpr int64_t kMaxResolution = 16384;
// Pixels per element of a latent, in each direction, for the autoencoders of Stable Diffusion.
inline constexpr int64_t kPixelsPerLatent = 8;

struct NodeNames {
  std::string class_type;
  std::string display_name;
  std::string category;
};

inline graph::NodeDef make_node(NodeNames names, std::vector<graph::InputDef> inputs, const std::vector<std::string>& outputs,
                                std::function<graph::NodeResult(graph::NodeContext&, const graph::Inputs&)> run) {
  graph::NodeDef node;
  node.class_type = std::move(names.class_type);
  node.display_name = std::move(names.display_name);
  node.category = std::move(names.category);
  node.inputs = std::move(inputs);
  for (const std::string& type : outputs) {
    graph::OutputDef output;
    output.name = output.type = type;
    node.outputs.push_back(std::move(output));
  }
  node.run = std::move(run);
  return node;
}

// Does `work` on what the node's input names; an error gets the input's name unless it has one.
template <typename Work>
auto with_input(const char* input, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    if (!error.find("input").empty()) throw;
    throw error.with("input", input);
  }
}

// An INT in pixels, in steps of `step`.
inline graph::InputDef pixels_input(std::string name, int64_t default_value, int64_t min, int64_t step) {
  return graph::InputDef::integer(std::move(name), default_value, min, kMaxResolution, step);
}

}  // namespace veneer::nodes
