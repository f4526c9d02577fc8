#include <limits>

#include "nodes/node_builder.h"
#include "nodes/nodes.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::NodeDef;

// A node whose one widget is its one output.
NodeDef primitive(std::string class_type, std::string display_name, InputDef input) {
  const std::string type = input.type;
  NodeDef node = make_node({std::move(class_type), std::move(display_name), "utils/primitive"}, {std::move(input)}, {type},
                           [](graph::NodeContext&, const graph::Inputs& inputs) { return graph::NodeResult{inputs.value("value")}; });
  node.module = "comfy_extras.nodes_primitive";
  node.newer_schema = true;
  return node;
}

}  // namespace

std::vector<NodeDef> primitive_nodes() {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  InputDef integer = InputDef::socket("value", "INT");
  integer.min = -kMost;
  integer.max = kMost;
  integer.control_after_generate = true;
  InputDef number = InputDef::socket("value", "FLOAT");
  number.min = -kMost;
  number.max = kMost;
  InputDef multiline = InputDef::text("value");
  multiline.multiline = true;
  return {
      primitive("PrimitiveString", "String", InputDef::text("value").with("multiline", false)),
      primitive("PrimitiveStringMultiline", "String (Multiline)", std::move(multiline)),
      primitive("PrimitiveInt", "Int", std::move(integer)),
      primitive("PrimitiveFloat", "Float", std::move(number)),
      primitive("PrimitiveBoolean", "Boolean", InputDef::boolean("value")),
  };
}

}  // namespace veneer::nodes
