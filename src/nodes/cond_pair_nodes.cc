// Nodes that give prompts hooks, masks and times, one list at a time or the positive and the negative one together.
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
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
using sampling::Conditioning;

constexpr const char* kSingle = "advanced/hooks/cond single";
constexpr const char* kPair = "advanced/hooks/cond pair";

InputDef conditioning_input(const char* name) { return InputDef::socket(name, "CONDITIONING"); }
InputDef hooks_input() { return InputDef::socket("hooks", "HOOKS").as_optional(); }
const Conditioning& conditioning_of(const Inputs& in, const char* name) { return in.get<Conditioning>(name); }
Value conditioning_value(Conditioning conditioning) { return Value::of("CONDITIONING", std::move(conditioning)); }

NodeDef finished(NodeDef node) {
  node.experimental = true;
  node.module = "comfy_extras.nodes_hooks";
  if (node.outputs.size() == 2) {
    node.outputs[0].name = "positive";
    node.outputs[1].name = "negative";
  }
  return node;
}

// Behind the prompts' sockets.
std::vector<InputDef> with_properties(std::vector<InputDef> inputs) {
  inputs.push_back(InputDef::number("strength", 1.0, 0.0, 10.0, 0.01));
  inputs.push_back(InputDef::choice("set_cond_area", {"default", "mask bounds"}));
  inputs.push_back(InputDef::socket("mask", "MASK").as_optional());
  inputs.push_back(hooks_input());
  inputs.push_back(InputDef::socket("timesteps", "TIMESTEPS_RANGE").as_optional());
  return inputs;
}

// The prompts of an input under the node's hooks, mask and time, each if it is there. The strength is the mask's.
Conditioning changed(const Inputs& in, const char* name) {
  return with_input(name, [&] {
    Conditioning out = variant::add_hooks(conditioning_of(in, name), in.share_or_null<variant::HookGroup>("hooks"));
    if (in.has("mask")) {
      out = sampling::set_mask(out, in.get<Tensor>("mask"), in.number("strength"), in.text("set_cond_area") != "default");
    }
    if (const auto range = in.share_or_null<TimestepsRange>("timesteps")) out = sampling::set_timestep_range(out, range->start, range->end);
    return out;
  });
}

Conditioning changed_behind(const Inputs& in, const char* before, const char* name) {
  return sampling::combine(conditioning_of(in, before), changed(in, name));
}

Conditioning defaults_behind(const Inputs& in, const char* before, const char* name) {
  const Conditioning hooked = variant::add_hooks(conditioning_of(in, name), in.share_or_null<variant::HookGroup>("hooks"));
  return sampling::combine(conditioning_of(in, before), sampling::set_default(hooked));
}

std::vector<NodeDef> property_nodes() {
  return {
      make_node({"ConditioningSetProperties", "Cond Set Props", kSingle}, with_properties({conditioning_input("cond_NEW")}), {"CONDITIONING"},
                [](NodeContext&, const Inputs& in) { return NodeResult{conditioning_value(changed(in, "cond_NEW"))}; }),
      make_node({"ConditioningSetPropertiesAndCombine", "Cond Set Props Combine", kSingle},
                with_properties({conditioning_input("cond"), conditioning_input("cond_NEW")}), {"CONDITIONING"},
                [](NodeContext&, const Inputs& in) { return NodeResult{conditioning_value(changed_behind(in, "cond", "cond_NEW"))}; }),
      make_node({"PairConditioningSetProperties", "Cond Pair Set Props", kPair},
                with_properties({conditioning_input("positive_NEW"), conditioning_input("negative_NEW")}), {"CONDITIONING", "CONDITIONING"},
                [](NodeContext&, const Inputs& in) {
                  return NodeResult{conditioning_value(changed(in, "positive_NEW")), conditioning_value(changed(in, "negative_NEW"))};
                }),
      make_node({"PairConditioningSetPropertiesAndCombine", "Cond Pair Set Props Combine", kPair},
                with_properties({conditioning_input("positive"), conditioning_input("negative"), conditioning_input("positive_NEW"),
                                 conditioning_input("negative_NEW")}),
                {"CONDITIONING", "CONDITIONING"},
                [](NodeContext&, const Inputs& in) {
                  return NodeResult{conditioning_value(changed_behind(in, "positive", "positive_NEW")),
                                    conditioning_value(changed_behind(in, "negative", "negative_NEW"))};
                }),
  };
}

std::vector<NodeDef> combine_nodes() {
  return {
      make_node({"ConditioningSetDefaultCombine", "Cond Set Default Combine", kSingle},
                {conditioning_input("cond"), conditioning_input("cond_DEFAULT"), hooks_input()}, {"CONDITIONING"},
                [](NodeContext&, const Inputs& in) { return NodeResult{conditioning_value(defaults_behind(in, "cond", "cond_DEFAULT"))}; }),
      make_node({"PairConditioningSetDefaultCombine", "Cond Pair Set Default Combine", kPair},
                {conditioning_input("positive"), conditioning_input("negative"), conditioning_input("positive_DEFAULT"),
                 conditioning_input("negative_DEFAULT"), hooks_input()},
                {"CONDITIONING", "CONDITIONING"},
                [](NodeContext&, const Inputs& in) {
                  return NodeResult{conditioning_value(defaults_behind(in, "positive", "positive_DEFAULT")),
                                    conditioning_value(defaults_behind(in, "negative", "negative_DEFAULT"))};
                }),
      make_node(
          {"PairConditioningCombine", "Cond Pair Combine", kPair},
          {conditioning_input("positive_A"), conditioning_input("negative_A"), conditioning_input("positive_B"), conditioning_input("negative_B")},
          {"CONDITIONING", "CONDITIONING"},
          [](NodeContext&, const Inputs& in) {
            const auto both = [&](const char* first, const char* second) {
              return conditioning_value(sampling::combine(conditioning_of(in, first), conditioning_of(in, second)));
            };
            return NodeResult{both("positive_A", "positive_B"), both("negative_A", "negative_B")};
          }),
  };
}

}  // namespace

std::vector<NodeDef> cond_pair_nodes() {
  std::vector<NodeDef> all;
  for (std::vector<NodeDef>& nodes : std::vector<std::vector<NodeDef>>{property_nodes(), combine_nodes()}) {
    for (NodeDef& node : nodes) all.push_back(finished(std::move(node)));
  }
  return all;
}

}  // namespace veneer::nodes
