// Perp-Neg as a model's way of guidance.
#pragma once

#include "patch/patch_compat.h"
#include "sampling/conditioning.h"
#include "sampling/guidance_options.h"

namespace veneer::nodes {

// Instead of classifier-free guidance: sampling/perp_neg.h, with one more evaluation per step, of `empty`. PatchCompat::reference: over a batch as
// one vector. Needs the predictions of both lists at every scale. Throws Error(invalid) for an empty list.
decltype(sampling::GuidanceOptions::cfg_function)::value_type perp_neg_guidance(const sampling::Conditioning& empty, double neg_scale,
                                                                                patch::PatchCompat compat);

}  // namespace veneer::nodes
