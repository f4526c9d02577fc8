// What becomes of a checkpoint under adapters, for those who have a Core.
#pragma once

#include "engine/core.h"
#include "veneer/variants.h"

namespace veneer::engine {

// As Engine::describe. `read_adapters`: reads the tensors of the adapters that the model takes, and throws Error(corrupt) naming file and tensor for
// one with a number that is not finite.
VariantReport describe_variant(const Core& core, const VariantRequest& request, bool read_adapters = false);

}  // namespace veneer::engine
