// A checkpoint that is in memory against its file.
#pragma once

#include <functional>
#include <string>

#include "nodes/model_store.h"
#include "veneer/verify.h"

namespace veneer::engine {

// Engine::verify. The file is opened a second time, so that it is the file as it is after `between` which counts.
VerifyReport verify_checkpoint(nodes::ModelStore& models, const std::string& name, const std::function<void()>& between);

}  // namespace veneer::engine
