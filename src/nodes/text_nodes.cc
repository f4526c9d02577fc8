#include <string_view>

#include "nodes/encode_prompt.h"
#include "nodes/model_store.h"
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

// Versions of the embeddings that a text names. Of a text that comes over a link it is not known which these are: of all.
graph::Json embedding_versions(const graph::Environment& environment, const Inputs& in) {
  ModelStore* store = environment.find<ModelStore>();
  if (store == nullptr) return nullptr;
  std::vector<std::string> names;
  if (in.has("text")) {
    const std::string text = in.text("text");
    constexpr std::string_view kMarker = "embedding:";
    for (size_t at = text.find(kMarker); at != std::string::npos; at = text.find(kMarker, at)) {
      at += kMarker.size();
      names.push_back(text.substr(at, text.find_first_of(" \t\r\n,:()", at) - at));
    }
  } else {
    names = store->names("embeddings");
  }
  if (names.empty()) return nullptr;
  graph::Json versions = graph::Json::array();
  for (const std::string& name : names) versions.push_back(store->embedding_version(name));
  return versions;
}

NodeDef clip_text_encode() {
  NodeDef node = make_node({"CLIPTextEncode", "CLIP Text Encode (Prompt)", "conditioning"},
                           {InputDef::multiline_text("text", true).tip("The text to be encoded."),
                            InputDef::socket("clip", "CLIP").tip("The CLIP model used for encoding the text.")},
                           {"CONDITIONING"}, encode_text);
  node.change_fingerprint = embedding_versions;
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
