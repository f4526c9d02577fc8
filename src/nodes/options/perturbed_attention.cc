#include "nodes/options/perturbed_attention.h"

#include <memory>

#include "nodes/options/options_overlay.h"

namespace veneer::nodes {

sampling::Hook<Tensor(const sampling::GuidanceCall&, const Tensor&)> perturbed_attention_guidance(double scale) {
  variant::TransformerOptions options;
  const Fingerprint identity = FingerprintBuilder().add("attention to itself only").finish();
  options.attn1_replace[{"middle", 0, -1}] = {identity, [](const variant::QKV& qkv, const variant::PatchCall&) { return qkv.v; }};
  const auto overlay = std::make_shared<const OptionsOverlay>(std::move(options));
  return {FingerprintBuilder().add("PerturbedAttentionGuidance").add(scale).finish(),
          [=](const sampling::GuidanceCall& call, const Tensor& denoised) {
            if (scale == 0) return denoised;
            const Tensor perturbed = call.evaluate({.overlay = overlay.get()});
            Tensor out = denoised.clone();
            const auto to = out.mutable_floats();
            const auto cond = call.predictions.cond.floats();
            const float strength = static_cast<float>(scale);
            for (size_t i = 0; i < to.size(); ++i) to[i] += (cond[i] - perturbed.floats()[i]) * strength;
            return out;
          }};
}

}  // namespace veneer::nodes
