#include <random>

#include "formats/image_file.h"
#include "formats/image_tensor.h"
#include "formats/sha256.h"
#include "nodes/image_files.h"
#include "nodes/input_files.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/output_counters.h"
#include "nodes/services.h"

namespace veneer::nodes {
namespace {

using graph::Environment;
using graph::InputDef;
using graph::Inputs;
using graph::Json;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;

const ImageFolders& folders_of(const Environment& environment) { return environment.get<ImageFolders>(); }

// What the two loading nodes share: the choice of a file, its own check of the name, and the content's hash as what makes it run again.
void add_file_input(NodeDef& node, bool images_only) {
  node.inputs.insert(node.inputs.begin(), InputDef::choice("image", [images_only](const Environment& e) {
                                            return list_input_files(folders_of(e), images_only);
                                          }).as_image_upload());
  node.validator.inputs = {"image"};
  node.validator.check = [](const Environment& e, const Inputs& in, const auto&) -> graph::NodeValidator::Answer {
    if (!in.has("image")) return std::nullopt;  // linked: known only when it runs
    try {
      resolve_input_file(folders_of(e), in.text("image"));
      return std::nullopt;
    } catch (const Error&) {
      return "Invalid image file: " + in.text("image");
    }
  };
  node.change_fingerprint = [](const Environment& e, const Inputs& in) -> Json {
    return formats::sha256_hex_of_file(resolve_input_file(folders_of(e), in.text("image")));
  };
}

formats::ImageBytes load(NodeContext& node, const Inputs& in) {
  return with_input("image", [&] { return formats::read_image(resolve_input_file(folders_of(node.environment()), in.text("image"))); });
}

NodeDef load_image() {
  NodeDef node = make_node({"LoadImage", "Load Image", "image"}, {}, {"IMAGE", "MASK"}, [](NodeContext& context, const Inputs& in) {
    const formats::ImageBytes image = load(context, in);
    return NodeResult{Value::of("IMAGE", formats::image_tensor(image)), Value::of("MASK", formats::alpha_mask_tensor(image))};
  });
  add_file_input(node, true);
  return node;
}

NodeDef load_image_mask() {
  NodeDef node = make_node({"LoadImageMask", "Load Image (as Mask)", "mask"}, {InputDef::choice("channel", {"alpha", "red", "green", "blue"})},
                           {"MASK"}, [](NodeContext& context, const Inputs& in) {
                             const auto channel = formats::image_channel_from_string(in.text("channel"));
                             return NodeResult{Value::of("MASK", formats::channel_mask_tensor(load(context, in), channel))};
                           });
  add_file_input(node, false);
  return node;
}

void add_hidden_recipe(NodeDef& node) {
  node.inputs.push_back(InputDef::hidden("prompt", "PROMPT"));
  node.inputs.push_back(InputDef::hidden("extra_pnginfo", "EXTRA_PNGINFO"));
  node.output_node = true;
}

NodeDef save_image() {
  NodeDef node = make_node({"SaveImage", "Save Image", "image"},
                           {InputDef::socket("images", "IMAGE").tip("The images to save."),
                            InputDef::text("filename_prefix", "ComfyUI")
                                .tip("The prefix for the file to save. This may include formatting information such as %date:yyyy-MM-dd% or "
                                     "%Empty Latent Image.width% to include values from nodes.")},
                           {}, [](NodeContext& context, const Inputs& in) {
                             const SaveRequest request{.folder = folders_of(context.environment()).output,
                                                       .type = "output",
                                                       .filename_prefix = in.text("filename_prefix"),
                                                       .prompt = context.prompt(),
                                                       .extra_pnginfo = context.extra_pnginfo(),
                                                       .counters = context.environment().find<OutputCounters>()};
                             return NodeResult::with_ui(save_images(request, in.get<Tensor>("images")));
                           });
  node.description = "Saves the input images to your ComfyUI output directory.";
  add_hidden_recipe(node);
  return node;
}

// Kept for as long as the node stays in the graph, so that its previews go on under one name.
struct PreviewPrefix {
  PreviewPrefix() {
    std::random_device random;
    for (int i = 0; i < 5; ++i) text += static_cast<char>('a' + random() % 26);
  }
  std::string text = "ComfyUI_temp_";
};

NodeDef preview_image() {
  NodeDef node =
      make_node({"PreviewImage", "Preview Image", "image"}, {InputDef::socket("images", "IMAGE")}, {}, [](NodeContext& context, const Inputs& in) {
        const SaveRequest request{.folder = folders_of(context.environment()).temp,
                                  .type = "temp",
                                  .filename_prefix = context.state<PreviewPrefix>()->text,
                                  .prompt = context.prompt(),
                                  .extra_pnginfo = context.extra_pnginfo(),
                                  .counters = context.environment().find<OutputCounters>(),
                                  .durable = false};
        return NodeResult::with_ui(save_images(request, in.get<Tensor>("images")));
      });
  node.description = "Saves the input images to your ComfyUI output directory.";
  add_hidden_recipe(node);
  return node;
}

}  // namespace

std::vector<NodeDef> image_file_nodes() { return {load_image(), load_image_mask(), save_image(), preview_image()}; }

}  // namespace veneer::nodes
