#include "nodes/merge_models.h"
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

constexpr const char* kCategory = "advanced/model_merging";

InputDef ratio_input(const std::string& name) { return InputDef::number(name, 1.0, 0.0, 1.0, 0.01); }
InputDef multiplier_input() { return InputDef::number("multiplier", 1.0, -10.0, 10.0, 0.01); }

// What the nodes of a kind differ in: the numbers they take, and how much of each model they make of them.
struct MergeNode {
  std::string class_type;
  std::vector<InputDef> numbers;
  std::function<MergeWeights(const Inputs&)> weights;
};

NodeDef with_models(NodeNames names, const char* type, const std::vector<std::string>& models, std::vector<InputDef> numbers,
                    std::function<NodeResult(NodeContext&, const Inputs&)> run) {
  std::vector<InputDef> inputs;
  inputs.reserve(models.size() + numbers.size());
  for (const std::string& model : models) inputs.push_back(InputDef::socket(model, type));
  for (InputDef& number : numbers) inputs.push_back(std::move(number));
  NodeDef node = make_node(std::move(names), std::move(inputs), {type}, std::move(run));
  node.module = "comfy_extras.nodes_model_merging";
  return node;
}

NodeDef model_node(const MergeNode& merge) {
  return with_models({merge.class_type, merge.class_type, kCategory}, "MODEL", {"model1", "model2"}, merge.numbers,
                     [weights = merge.weights](NodeContext&, const Inputs& in) {
                       ModelValue model = in.get<ModelValue>("model1");
                       const ModelValue& other = in.get<ModelValue>("model2");
                       model.patcher = with_input("model2", [&] { return merge_unets(model.patcher, other.patcher, weights(in)); });
                       return NodeResult{Value::of("MODEL", std::move(model))};
                     });
}

NodeDef clip_node(const MergeNode& merge) {
  return with_models({merge.class_type, merge.class_type, kCategory}, "CLIP", {"clip1", "clip2"}, merge.numbers,
                     [weights = merge.weights](NodeContext&, const Inputs& in) {
                       ClipValue clip = in.get<ClipValue>("clip1");
                       const ClipValue& other = in.get<ClipValue>("clip2");
                       clip.patcher = with_input("clip2", [&] { return merge_text_encoders(clip.patcher, other.patcher, weights(in)); });
                       return NodeResult{Value::of("CLIP", std::move(clip))};
                     });
}

// `blocks`: names of the inputs, which are prefixes of weights' names; the first one's ratio is also that of weights that none fits.
NodeDef blocks_node(NodeNames names, const std::vector<std::string>& blocks) {
  std::vector<InputDef> numbers;
  numbers.reserve(blocks.size());
  for (const std::string& block : blocks) numbers.push_back(ratio_input(block));
  return with_models(std::move(names), "MODEL", {"model1", "model2"}, std::move(numbers), [blocks](NodeContext&, const Inputs& in) {
    ModelValue model = in.get<ModelValue>("model1");
    const ModelValue& other = in.get<ModelValue>("model2");
    std::vector<std::pair<std::string, double>> ratios;
    ratios.reserve(blocks.size());
    for (const std::string& block : blocks) ratios.emplace_back(block, in.number(block));
    model.patcher = with_input("model2", [&] { return merge_unet_blocks(model.patcher, other.patcher, ratios); });
    return NodeResult{Value::of("MODEL", std::move(model))};
  });
}

// Twelve input blocks, three middle ones, twelve output blocks: the UNet of Stable Diffusion 1 and 2.
NodeDef sd1_blocks_node(const std::string& class_type) {
  std::vector<std::string> blocks = {"time_embed.", "label_emb."};
  const auto add = [&](const std::string& name, int count) {
    for (int i = 0; i < count; ++i) blocks.push_back(name + std::to_string(i) + ".");
  };
  add("input_blocks.", 12);
  add("middle_block.", 3);
  add("output_blocks.", 12);
  blocks.push_back("out.");
  NodeDef node = blocks_node({class_type, class_type, "advanced/model_merging/model_specific"}, blocks);
  node.module = "comfy_extras.nodes_model_merging_model_specific";
  return node;
}

}  // namespace

std::vector<NodeDef> merge_nodes() {
  const auto mix = [](const Inputs& in) { return MergeWeights::mix(in.number("ratio")); };
  const auto sum = [](const Inputs&) { return MergeWeights::sum(); };
  const auto difference = [](const Inputs& in) { return MergeWeights::difference(in.number("multiplier")); };
  return {model_node({"ModelMergeSimple", {ratio_input("ratio")}, mix}),
          blocks_node({"ModelMergeBlocks", "ModelMergeBlocks", kCategory}, {"input", "middle", "out"}),
          model_node({"ModelMergeSubtract", {multiplier_input()}, difference}),
          model_node({"ModelMergeAdd", {}, sum}),
          clip_node({"CLIPMergeSimple", {ratio_input("ratio")}, mix}),
          clip_node({"CLIPMergeSubtract", {multiplier_input()}, difference}),
          clip_node({"CLIPMergeAdd", {}, sum}),
          sd1_blocks_node("ModelMergeSD1"),
          sd1_blocks_node("ModelMergeSD2")};
}

}  // namespace veneer::nodes
