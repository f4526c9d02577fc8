// The model files that a workflow names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graph/json.h"
#include "graph/node_registry.h"
#include "registry/library.h"
#include "veneer/workflow.h"

namespace veneer::engine {

struct NamedModel {
  std::string node, class_type, input;
  std::string kind;
  std::string reference;                  // as the workflow has it
  std::string name;                       // in the folders; "" when there is no such file
  std::filesystem::path file;             // "" likewise
  std::string problem;                    // a reference by hash, version or key, or an embedding, that leads to no file: why; "" for plain names
  std::vector<std::string> nearest = {};  // to an embedding that does not exist
};

// Every constant of a known class's input that chooses among models. In the prompt a reference is replaced by the name of its file, so that what runs
// and what checks see names only. Every reference is looked up once. Throws nothing for names and references that lead nowhere.
std::vector<NamedModel> resolve_models(graph::Json& prompt, const graph::NodeRegistry& nodes, registry::Library& library);

class Core;
// The same with the nodes and folders of a core.
std::vector<NamedModel> resolve_models(graph::Json& prompt, const Core& core);

}  // namespace veneer::engine
