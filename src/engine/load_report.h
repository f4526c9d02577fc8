// The plan for a variant's weights, and the account once it is carried out.
#pragma once

#include "engine/open_variant.h"
#include "veneer/memory.h"

namespace veneer::engine {

// Where each module of a variant is to be when its network runs alone under the runtime's budgets. Computes no weight.
PartPlan plan_part(const char* name, const variant::ModelPatcher& patcher);

// Plans and loads the text encoder, the autoencoder and the UNet, in this order; each is let go before the next, but the UNet is held until the
// account is taken.
LoadReport load_variant(OpenVariant variant, const VariantRequest& request);

}  // namespace veneer::engine
