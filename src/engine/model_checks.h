// The files that a workflow names: whether each opens, and is what its place takes.
#pragma once

#include <vector>

#include "engine/model_flow.h"
#include "engine/workflow_models.h"
#include "veneer/workflow.h"

namespace veneer::engine {

struct CheckedModels {
  std::vector<WorkflowModel> models;
  std::vector<WorkflowFinding> findings;
  FactsByNode facts;
};

// Reads headers, each once. Hashes are told where they are known already. `read_files` false: files are only named.
CheckedModels check_models(const std::vector<NamedModel>& models, registry::Library& library, bool read_files);

}  // namespace veneer::engine
