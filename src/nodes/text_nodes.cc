#include "nodes/encode_prompt.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/values.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;

const ClipValue& clip_of(const Inputs& in) {
  if (!in.has("clip")) throw Error(ErrorCode::invalid, "the text encoder is missing: the checkpoint holds none", {{"input", "clip"}});
  return in.get<ClipValue>("clip");
}

NodeResult encode_text(NodeContext& node, const Inputs& in) { return {Value::of("CONDITIONING", encode_prompt(node, clip_of(in), in.text("text")))}; }

NodeDef clip_text_encode() {
  NodeDef node = make_node({"CLIPTextEncode", "CLIP Text Encode (Prompt)", "conditioning"},
                           {InputDef::multiline_text("text", true).tip("The text to be encoded."),
                            InputDef::socket("clip", "CLIP").tip("The CLIP model used for encoding the text.")},
                           {"CONDITIONING"}, encode_text);
  node.outputs[0].tooltip = "A conditioning containing the embedded text used to guide the diffusion model.";
  node.description =
      "Encodes a text prompt using a CLIP model into an embedding that can be used to guide the diffusion model towards generating specific images.";
  return node;
}

NodeDef clip_set_last_layer() {
  return make_node({"CLIPSetLastLayer", "CLIP Set Last Layer", "conditioning"},
                   {InputDef::socket("clip", "CLIP"), InputDef::integer("stop_at_clip_layer", -1, -24, -1, 1)}, {"CLIP"},
                   [](NodeContext&, const Inputs& in) {
                     ClipValue clip = clip_of(in);
                     clip.layer = static_cast<int>(in.integer("stop_at_clip_layer"));
                     return NodeResult{Value::of("CLIP", std::move(clip))};
                   });
}

}  // namespace

std::vector<NodeDef> text_nodes() { return {clip_text_encode(), clip_set_last_layer()}; }

}  // namespace veneer::nodes
