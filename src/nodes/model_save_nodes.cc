#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/save_model.h"
#include "nodes/services.h"
#include "nodes/values.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;

NodeDef save_node(NodeNames names, std::vector<InputDef> inputs, const char* default_prefix, std::function<void(NodeContext&, const Inputs&)> save) {
  inputs.push_back(InputDef::text("filename_prefix", default_prefix));
  inputs.push_back(InputDef::hidden("prompt", "PROMPT"));
  inputs.push_back(InputDef::hidden("extra_pnginfo", "EXTRA_PNGINFO"));
  names.category = "advanced/model_merging";
  NodeDef node = make_node(std::move(names), std::move(inputs), {}, [save = std::move(save)](NodeContext& context, const Inputs& in) {
    save(context, in);
    return NodeResult{};
  });
  node.module = "comfy_extras.nodes_model_merging";
  node.output_node = true;
  return node;
}

// Writes the tensors under the node's prefix and shows on the node where. `metadata` gets the recipe added.
void write(NodeContext& context, const std::string& prefix, Tensors tensors, std::function<Metadata(const std::string&, int64_t)> metadata) {
  ModelFileRequest request;
  request.folder = context.environment().get<ImageFolders>().output;
  request.filename_prefix = prefix;
  request.tensors = std::move(tensors);
  request.metadata = [&](const std::string& stem, int64_t counter) {
    Metadata out = metadata(stem, counter);
    add_recipe(out, context.prompt(), context.extra_pnginfo());
    return out;
  };
  request.progress = [&](size_t done, size_t total) { context.progress(static_cast<int64_t>(done), static_cast<int64_t>(total)); };
  const std::filesystem::path folder = request.folder;
  context.progress_text(save_model_file(std::move(request)).lexically_relative(folder).generic_string());
}

void write_checkpoint(NodeContext& context, const Inputs& in, const ClipValue* clip, const VaeValue* vae) {
  const ModelValue& model = in.get<ModelValue>("model");
  write(context, in.text("filename_prefix"), checkpoint_tensors(model, clip, vae),
        [&](const std::string& stem, int64_t counter) { return model_spec(model, stem + " " + std::to_string(counter)); });
}

NodeDef checkpoint_save() {
  return save_node(
      {"CheckpointSave", "Save Checkpoint", ""},
      {InputDef::socket("model", "MODEL"), InputDef::socket("clip", "CLIP"), InputDef::socket("vae", "VAE")}, "checkpoints/ComfyUI",
      [](NodeContext& context, const Inputs& in) { write_checkpoint(context, in, &in.get<ClipValue>("clip"), &in.get<VaeValue>("vae")); });
}

NodeDef model_save() {
  return save_node({"ModelSave", "ModelSave", ""}, {InputDef::socket("model", "MODEL")}, "diffusion_models/ComfyUI",
                   [](NodeContext& context, const Inputs& in) { write_checkpoint(context, in, nullptr, nullptr); });
}

NodeDef clip_save() {
  return save_node({"CLIPSave", "CLIPSave", ""}, {InputDef::socket("clip", "CLIP")}, "clip/ComfyUI", [](NodeContext& context, const Inputs& in) {
    const ClipValue& clip = in.get<ClipValue>("clip");
    const models::ClipKind& kind = clip.network->config().kind;
    // One file per encoder, so its name is part of the file's.
    write(context, in.text("filename_prefix") + "_" + std::string(kind.name), weights_of(clip.patcher, models::clip_alone(kind)),
          [](const std::string&, int64_t) {
            return Metadata{{"format", "pt"}};
          });
  });
}

NodeDef vae_save() {
  return save_node({"VAESave", "VAESave", ""}, {InputDef::socket("vae", "VAE")}, "vae/ComfyUI_vae", [](NodeContext& context, const Inputs& in) {
    write(context, in.text("filename_prefix"), weights_of(in.get<VaeValue>("vae").patcher, models::vae_alone()),
          [](const std::string&, int64_t) { return Metadata(); });
  });
}

}  // namespace

std::vector<NodeDef> model_save_nodes() { return {checkpoint_save(), clip_save(), vae_save(), model_save()}; }

}  // namespace veneer::nodes
