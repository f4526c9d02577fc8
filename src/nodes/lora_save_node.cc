#include "nodes/extract_lora.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/services.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;

ExtractOptions options_of(const Inputs& in) {
  ExtractOptions options;
  options.kind = in.text("lora_type") == "full_diff" ? ExtractOptions::Kind::full_diff : ExtractOptions::Kind::standard;
  options.rank = in.integer("rank");
  options.bias_diff = in.boolean("bias_diff");
  return options;
}

NodeResult save_lora(NodeContext& context, const Inputs& in) {
  const auto model = in.share_or_null<ModelValue>("model_diff");
  const auto clip = in.share_or_null<ClipValue>("text_encoder_diff");
  if (!model && !clip) throw Error(ErrorCode::invalid, "extract: neither a model nor a text encoder is connected", {{"input", "model_diff"}});
  const size_t total = (model ? model->patcher.model()->weights().size() : 0) + (clip ? clip->patcher.model()->weights().size() : 0);
  size_t done = 0;
  ExtractOptions options = options_of(in);
  options.progress = [&] { context.progress(static_cast<int64_t>(done++), static_cast<int64_t>(total)); };

  ModelFileRequest request;
  const auto extract = [&](const char* input, const variant::ModelPatcher& patcher, const char* key_prefix, const char* layer_prefix) {
    Tensors found = with_input(input, [&] { return extract_adapter(patcher, key_prefix, layer_prefix, options); });
    std::move(found.begin(), found.end(), std::back_inserter(request.tensors));
  };
  if (model) extract("model_diff", model->patcher, "diffusion_model.", "diffusion_model.");
  if (clip) extract("text_encoder_diff", clip->patcher, "", "text_encoders.");
  if (request.tensors.empty()) {
    throw Error(ErrorCode::invalid, "extract: there is no difference", {{"input", model ? "model_diff" : "text_encoder_diff"}});
  }
  request.folder = context.environment().get<ImageFolders>().output;
  request.filename_prefix = in.text("filename_prefix");
  const std::filesystem::path folder = request.folder;
  context.progress_text(save_model_file(std::move(request)).lexically_relative(folder).generic_string());
  return {};
}

NodeDef lora_save() {
  NodeDef node = make_node(
      {"LoraSave", "Extract and Save Lora", "_for_testing"},
      {InputDef::text("filename_prefix", "loras/ComfyUI_extracted_lora").with("multiline", false), InputDef::integer("rank", 8, 1, 4096, 1),
       InputDef::choice("lora_type", {"standard", "full_diff"}).as_combo().with("multiselect", false), InputDef::boolean("bias_diff", true),
       InputDef::socket("model_diff", "MODEL").as_optional().tip("What ModelMergeSubtract gives, or a model whose patches are to become one LoRA."),
       InputDef::socket("text_encoder_diff", "CLIP")
           .as_optional()
           .tip("What CLIPMergeSubtract gives, or a text encoder whose patches are to become one LoRA."),
       InputDef::hidden("prompt", "PROMPT"), InputDef::hidden("extra_pnginfo", "EXTRA_PNGINFO")},
      {}, save_lora);
  node.module = "comfy_extras.nodes_lora_extract";
  node.newer_schema = true;
  node.experimental = true;
  node.output_node = true;
  return node;
}

}  // namespace

std::vector<NodeDef> lora_save_nodes() { return {lora_save()}; }

}  // namespace veneer::nodes
