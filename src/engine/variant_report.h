// What a variant is made of, in the public form.
#pragma once

#include "engine/open_variant.h"

namespace veneer::engine {

VariantReport report_of(const OpenVariant& variant, const VariantRequest& request);

// Of what decides the outputs of a variant that has patches and nothing else, without any identity that holds for one process only. Reads every byte
// of the base and of the patches.
Fingerprint portable_fingerprint(const variant::ModelPatcher& patcher);

}  // namespace veneer::engine
