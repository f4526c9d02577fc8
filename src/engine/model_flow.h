// Families of models along the links of a workflow: what meets in one node has to be of one family.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/json.h"
#include "graph/node_registry.h"
#include "registry/model_facts.h"
#include "veneer/workflow.h"

namespace veneer::engine {

// What is known of a model that a node loads.
struct LoadedFacts {
  std::string input, kind, name;
  std::shared_ptr<const registry::ModelFacts> facts;
};

// node id -> the models that it loads.
using FactsByNode = std::map<std::string, std::vector<LoadedFacts>, std::less<>>;

// An error for every adapter on a model of another family, and for every node at which models, prompts, hooks or ControlNets of different families
// meet, or latents and an autoencoder with different numbers of channels. What is not known is not judged. Cycles are passed over.
std::vector<WorkflowFinding> flow_findings(const graph::Json& prompt, const graph::NodeRegistry& nodes, const FactsByNode& loaded);

}  // namespace veneer::engine
