// A checkpoint and adapters by the names that a request gives them.
#pragma once

#include <string>
#include <vector>

#include "nodes/model_store.h"
#include "patch/adapter_file.h"
#include "veneer/variants.h"

namespace veneer::engine {

// The name of a LoRA as the folders have it: the extension may be left out.
std::string lora_name(const registry::ModelFolders& folders, const std::string& name);

// Throws Error(not_found) with the nearest names, and all of them, when no folder has a model of that name; Error(invalid) for a name that is none.
void require_model(const registry::ModelFolders& folders, const char* kind, const std::string& name);

struct OpenAdapter {
  std::string name;
  std::string file;
  double strength = 1;
  patch::AdapterReport report;
};

struct OpenVariant {
  std::string file;                     // the checkpoint's path
  nodes::ModelStore::Checkpoint parts;  // with the adapters on them, as LoraLoader puts them there
  std::vector<OpenAdapter> adapters;
};

// Computes nothing. Throws what ModelStore and nodes::apply_lora do, and Error(invalid) for a strength that LoraLoader would refuse.
OpenVariant open_variant(nodes::ModelStore& models, const VariantRequest& request);

}  // namespace veneer::engine
