// Nodes that change how a model's predictions become the guided one.
#include "nodes/changed_model.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/options/perp_neg_guidance.h"
#include "nodes/options/perturbed_attention.h"
#include "nodes/options/self_attention_guidance.h"
#include "nodes/values.h"
#include "sampling/rescale_cfg.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;

InputDef model_input() { return InputDef::socket("model", "MODEL"); }

NodeDef rescale_cfg_node() {
  NodeDef node =
      make_node({"RescaleCFG", "RescaleCFG", "advanced/model"}, {model_input(), InputDef::number("multiplier", 0.7, 0.0, 1.0, 0.01)}, {"MODEL"},
                [](NodeContext&, const Inputs& in) {
                  const double multiplier = in.number("multiplier");
                  return changed_model(in, [&](ModelValue& model) {
                    model.patcher.set_model_sampler_cfg_function(
                        {FingerprintBuilder().add("RescaleCFG").add(multiplier).finish(), [multiplier](const sampling::GuidanceCall& call) {
                           return sampling::rescale_cfg(call.x, call.sigma, call.predictions, call.scale, multiplier);
                         }});
                  });
                });
  node.module = "comfy_extras.nodes_model_advanced";
  return node;
}

NodeDef self_attention_guidance_node() {
  NodeDef node =
      make_node({"SelfAttentionGuidance", "Self-Attention Guidance", "_for_testing"},
                {model_input(), InputDef::number("scale", 0.5, -2.0, 5.0, 0.01), InputDef::number("blur_sigma", 2.0, 0.0, 10.0, 0.1)}, {"MODEL"},
                [](NodeContext&, const Inputs& in) {
                  return changed_model(in, [&](ModelValue& model) {
                    model.patcher.set_model_sampler_post_cfg_function(self_attention_guidance(in.number("scale"), in.number("blur_sigma")), true);
                    model.patcher.set_model_attn1_replace({"middle", 0, 0}, noting_attention());
                  });
                });
  node.module = "comfy_extras.nodes_sag";
  node.newer_schema = true;
  node.experimental = true;
  return node;
}

NodeDef perturbed_attention_guidance_node() {
  NodeDef node = make_node({"PerturbedAttentionGuidance", "", "model_patches/unet"},
                           {model_input(), InputDef::number("scale", 3.0, 0.0, 100.0, 0.01, 0.01)}, {"MODEL"}, [](NodeContext&, const Inputs& in) {
                             return changed_model(in, [&](ModelValue& model) {
                               model.patcher.set_model_sampler_post_cfg_function(perturbed_attention_guidance(in.number("scale")));
                             });
                           });
  node.module = "comfy_extras.nodes_pag";
  node.newer_schema = true;
  return node;
}

NodeDef perp_neg_node() {
  NodeDef node = make_node(
      {"PerpNeg", "Perp-Neg (DEPRECATED by PerpNegGuider)", "_for_testing"},
      {model_input(), InputDef::socket("empty_conditioning", "CONDITIONING"), InputDef::number("neg_scale", 1.0, 0.0, 100.0, 0.01)}, {"MODEL"},
      [](NodeContext&, const Inputs& in) {
        return changed_model(in, [&](ModelValue& model) {
          // The negative prompt counts at scale 1 too.
          model.patcher.set_model_sampler_cfg_function(
              perp_neg_guidance(in.get<sampling::Conditioning>("empty_conditioning"), in.number("neg_scale"), model.patcher.runtime().compat), true);
        });
      });
  node.module = "comfy_extras.nodes_perpneg";
  node.newer_schema = true;
  node.deprecated = node.experimental = true;
  return node;
}

}  // namespace

std::vector<NodeDef> guidance_option_nodes() {
  return {rescale_cfg_node(), self_attention_guidance_node(), perturbed_attention_guidance_node(), perp_neg_node()};
}

}  // namespace veneer::nodes
