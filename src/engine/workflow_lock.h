// Locks: the models of a workflow by content, for other machines to compare with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt_embeddings.h"
#include "engine/workflow_models.h"
#include "veneer/workflow.h"

namespace veneer::engine {

struct LockedFile {
  std::string name;  // beside the model
  uint64_t size_bytes = 0;
  std::string sha256;
};
struct LockedModel {
  std::string kind, name;
  uint64_t size_bytes = 0;
  std::string sha256;
  std::vector<LockedFile> files = {};  // of a model in shards: the index and every shard
};

// The text of a lock file: {"veneer_lock": 1, "models": [{"kind", "name", "size", "sha256", "used_by": [...]}]}, sorted; a model in
// shards has "files": [{"name", "size", "sha256"}] as well. Throws Error(not_found) for
// a model that does not exist and what hashing does. Texts that are made during the run are told as
// "not_known": [{"node", "input", "made_by"}], if there are any.
std::string write_lock(const std::vector<NamedModel>& models, const std::vector<MadeText>& texts, registry::Library& library,
                       const HashProgress& progress);

// Throws Error saying what is wrong with it; the text begins with "lock:".
std::vector<LockedModel> read_lock(std::string_view text);

// Whether the workflow's models are those of the lock: rules "lock_size", "lock_hash", "not_locked", "lock_unused". Files whose size differs are not
// hashed. Of a model in shards the file is named that is another, missing, or more than the lock has.
std::vector<WorkflowFinding> lock_findings(const std::vector<LockedModel>& lock, const std::vector<NamedModel>& models, registry::Library& library,
                                           const HashProgress& progress);

}  // namespace veneer::engine
