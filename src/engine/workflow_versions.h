// The versions of the models that a workflow names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/core.h"
#include "graph/json.h"

namespace veneer::engine {

struct ModelVersion {
  std::string node, input, type, name;
  std::string sha256;    // of the content that serves under the name; "" when its file is gone and was never hashed
  bool changed = false;  // since the newest job with that name: there was none, or it ran on another version
};

struct WorkflowVersions {
  std::vector<ModelVersion> models;
  std::string fingerprint;  // of types, names and contents; 64 hex digits
};

// Opens every model that the prompt (API form, validated) names, so that one that is broken is told, and hashes those whose hash is not known. Throws
// what opening does, with "node" and "input", and Error(cancelled) once `stop` says so.
WorkflowVersions versions_of(const Core& core, graph::Json prompt, const std::function<bool()>& stop);

}  // namespace veneer::engine
