// What becomes of a checkpoint under adapters, for those who have a Core.
#pragma once

#include "engine/core.h"
#include "veneer/variants.h"

namespace veneer::engine {

// As Engine::describe.
VariantReport describe_variant(const Core& core, const VariantRequest& request);

}  // namespace veneer::engine
