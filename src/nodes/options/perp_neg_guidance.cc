#include "nodes/options/perp_neg_guidance.h"

#include <memory>

#include "sampling/perp_neg.h"
#include "veneer/error.h"

namespace veneer::nodes {

decltype(sampling::GuidanceOptions::cfg_function)::value_type perp_neg_guidance(const sampling::Conditioning& empty, double neg_scale,
                                                                                patch::PatchCompat compat) {
  if (empty.empty()) throw Error(ErrorCode::invalid, "conditioning is empty", {{"input", "empty_conditioning"}});
  const auto scope = compat == patch::PatchCompat::reference ? sampling::PerpScope::batch : sampling::PerpScope::row;
  const Fingerprint id = FingerprintBuilder().add("PerpNeg").add(sampling::fingerprint(empty)).add(neg_scale).add(scope).finish();
  const auto prompts = std::make_shared<const sampling::Conditioning>(empty);
  return {id, [=](const sampling::GuidanceCall& call) {
            const Tensor nothing = call.evaluate({.prompts = sampling::Evaluation::Prompts::other, .other = prompts.get()});
            const sampling::Predictions& both = call.predictions;
            return sampling::perp_neg({both.cond, both.uncond, nothing}, neg_scale, call.scale, scope);
          }};
}

}  // namespace veneer::nodes
