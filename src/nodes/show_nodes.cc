#include "graph/json_text.h"
#include "graph/python_text.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::Json;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;

// Numbers and texts as they are, arrays and objects as JSON, everything else by its type and shape.
NodeDef preview_any() {
  NodeDef node = make_node({"PreviewAny", "Preview Any", "utils"}, {InputDef::socket("source", "*")}, {}, [](NodeContext&, const Inputs& in) {
    const Json shown = in.value("source").describe();
    return NodeResult::with_ui(Json{{"text", {shown.is_structured() ? graph::dump_json(shown) : graph::python_str(shown)}}});
  });
  node.inputs.front().always_options = true;
  node.module = "comfy_extras.nodes_preview_any";
  node.output_node = true;
  return node;
}

}  // namespace

std::vector<graph::NodeDef> show_nodes() { return {preview_any()}; }

}  // namespace veneer::nodes
