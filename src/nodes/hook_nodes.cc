// Nodes that make hooks, join them, and hand them to a text encoder.
#include "nodes/hook_weights.h"
#include "nodes/model_choice.h"
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
using variant::HookGroup;
using variant::HookGroupPtr;

InputDef strength_input(const char* name) { return InputDef::number(name, 1.0, -20.0, 20.0, 0.01); }
InputDef hooks_input(const char* name) { return InputDef::socket(name, "HOOKS").as_optional(); }
Value hooks_value(const HookGroupPtr& group) { return Value::object("HOOKS", group); }

NodeDef experimental(NodeDef node) {
  node.experimental = true;
  node.module = "comfy_extras.nodes_hooks";
  return node;
}

// The hooks of "prev_hooks" and one more behind them.
NodeResult appended(const Inputs& in, variant::WeightHook hook) {
  const HookGroupPtr groups[] = {in.share_or_null<HookGroup>("prev_hooks"),
                                 std::make_shared<const HookGroup>(std::vector<variant::WeightHook>{std::move(hook)})};
  return {hooks_value(variant::combine_hooks(groups))};
}

// With strengths of 0 a hook would do nothing: what was there goes on as it is.
bool does_nothing(const variant::WeightHook& hook) { return hook.strength_model == 0 && hook.strength_clip == 0; }
NodeResult unchanged(const Inputs& in) {
  const auto before = in.share_or_null<HookGroup>("prev_hooks");
  return {hooks_value(before ? before : std::make_shared<const HookGroup>(std::vector<variant::WeightHook>()))};
}

variant::WeightHook hook_of(const Inputs& in) {
  return {.weights = nullptr, .strength_model = in.number("strength_model"), .strength_clip = in.number_or("strength_clip", 0)};
}

NodeResult create_lora(NodeContext& node, const Inputs& in) {
  variant::WeightHook hook = hook_of(in);
  if (does_nothing(hook)) return unchanged(in);
  const HookTargets targets{.diffusion_model = hook.strength_model != 0, .text_encoder = hook.strength_clip != 0};
  hook.weights = with_input("lora_name", [&] { return lora_hook_weights(node.environment().get<ModelStore>().lora(in.text("lora_name")), targets); });
  return appended(in, std::move(hook));
}

NodeResult create_model_as_lora(NodeContext& node, const Inputs& in) {
  variant::WeightHook hook = hook_of(in);
  if (does_nothing(hook)) return unchanged(in);
  const std::string name = in.text("ckpt_name");
  hook.weights = with_input("ckpt_name", [&] { return checkpoint_hook_weights(node.environment().get<ModelStore>().checkpoint(name), name); });
  return appended(in, std::move(hook));
}

using Run = NodeResult (*)(NodeContext&, const Inputs&);

NodeDef create_node(NodeNames names, const char* file_input, const char* kind, bool with_clip, Run run) {
  std::vector<InputDef> inputs = {model_choice(file_input, kind), strength_input("strength_model")};
  if (with_clip) inputs.push_back(strength_input("strength_clip"));
  inputs.push_back(hooks_input("prev_hooks"));
  names.category = "advanced/hooks/create";
  NodeDef node = make_node(std::move(names), std::move(inputs), {"HOOKS"}, run);
  watch_file(node, file_input, kind);
  return experimental(std::move(node));
}

NodeDef combine_hooks(int count) {
  std::vector<InputDef> inputs;
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(std::string("hooks_") + static_cast<char>('A' + i));
    inputs.push_back(hooks_input(names.back().c_str()));
  }
  const std::string number = std::to_string(count);
  return experimental(make_node({"CombineHooks" + number, "Combine Hooks [" + number + "]", "advanced/hooks/combine"}, std::move(inputs), {"HOOKS"},
                                [names](NodeContext&, const Inputs& in) {
                                  std::vector<HookGroupPtr> groups;
                                  groups.reserve(names.size());
                                  for (const std::string& name : names) groups.push_back(in.share_or_null<HookGroup>(name));
                                  return NodeResult{hooks_value(variant::combine_hooks(groups))};
                                }));
}

NodeDef set_clip_hooks() {
  return experimental(make_node(
      {"SetClipHooks", "Set CLIP Hooks", "advanced/hooks/clip"},
      {InputDef::socket("clip", "CLIP"), InputDef::boolean("apply_to_conds", true), InputDef::boolean("schedule_clip", false), hooks_input("hooks")},
      {"CLIP"}, [](NodeContext&, const Inputs& in) {
        if (!in.has("clip")) {
          throw Error(ErrorCode::invalid, "the text encoder is missing: the checkpoint holds none", {{"input", "clip"}});
        }
        ClipValue clip = in.get<ClipValue>("clip");
        if (const auto hooks = in.share_or_null<HookGroup>("hooks")) {
          clip.hooks = hooks;
          clip.schedule_hooks = in.boolean("schedule_clip");
          if (in.boolean("apply_to_conds")) clip.cond_hooks = hooks;
        }
        return NodeResult{Value::of("CLIP", std::move(clip))};
      }));
}

}  // namespace

std::vector<NodeDef> hook_nodes() {
  return {
      create_node({"CreateHookLora", "Create Hook LoRA", {}}, "lora_name", "loras", true, create_lora),
      create_node({"CreateHookLoraModelOnly", "Create Hook LoRA (MO)", {}}, "lora_name", "loras", false, create_lora),
      create_node({"CreateHookModelAsLora", "Create Hook Model as LoRA", {}}, "ckpt_name", "checkpoints", true, create_model_as_lora),
      create_node({"CreateHookModelAsLoraModelOnly", "Create Hook Model as LoRA (MO)", {}}, "ckpt_name", "checkpoints", false, create_model_as_lora),
      combine_hooks(2),
      combine_hooks(4),
      combine_hooks(8),
      set_clip_hooks()};
}

}  // namespace veneer::nodes
