#include "models/clip/prompt_tokenizer.h"
#include "nodes/model_store.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/require_finite.h"
#include "nodes/services.h"
#include "nodes/values.h"
#include "sampling/conditioning.h"

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

NodeResult encode_text(NodeContext& node, const Inputs& in) {
  const ClipValue& clip = clip_of(in);
  ModelStore& store = node.environment().get<ModelStore>();
  const models::ClipKind& kind = clip.network->config().kind;
  const models::PromptTokenizer tokenizer(kind, store.vocabulary());
  const models::TokenizedPrompt prompt =
      with_input("text", [&] { return tokenizer.tokenize(in.text("text"), [&](std::string_view name) { return store.embedding(name, kind); }); });
  // A picture made without an embedding that the prompt names is not the picture that was asked for.
  if (!prompt.warnings.empty())
    throw Error(ErrorCode::not_found, "the prompt names an embedding that does not exist", {{"input", "text"}, {"detail", prompt.warnings.front()}});

  models::EncodeOptions options = models::EncodeOptions::of(kind);
  if (clip.layer) options.layer = clip.layer;
  options.cancel = &node.cancel();
  const std::unique_ptr<variant::ModelView> view = clip.patcher.patch_model();
  compute::Context context = node.environment().get<ComputeSettings>().f32_context();
  models::EncodedPrompt encoded = clip.network->encode(*view, context, prompt, options);
  if (!encoded.warnings.empty())
    throw Error(ErrorCode::invalid, "the prompt cannot be encoded as it is written", {{"input", "text"}, {"detail", encoded.warnings.front()}});

  sampling::ConditioningEntry entry;
  entry.context = require_finite(std::move(encoded.hidden), "text encoding");
  entry.pooled = std::move(encoded.pooled);
  return {Value::of("CONDITIONING", sampling::Conditioning{std::move(entry)})};
}

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
