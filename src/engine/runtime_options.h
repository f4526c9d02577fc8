// From EngineOptions to what all variants of an engine share.
#pragma once

#include <memory>

#include "variant/runtime.h"
#include "veneer/engine.h"

namespace veneer::engine {

// Throws Error(invalid) naming the option and the allowed values.
std::shared_ptr<const variant::Runtime> make_runtime(const EngineOptions& options, compute::WeightStorage storage = compute::WeightStorage::computed);

MemoryAccount account_of(const variant::Runtime& runtime);

}  // namespace veneer::engine
