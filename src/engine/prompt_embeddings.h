// The embeddings that the prompts of a workflow name: "embedding:NAME" in a text.
#pragma once

#include <string>
#include <vector>

#include "engine/workflow_models.h"

namespace veneer::engine {

// Of every text of a class that takes a CLIP, also of constants that reach the text over links: one for each node, input and name. The kind is
// "embeddings"; a name that leads to no file has a problem and what is near. Throws nothing for those.
std::vector<NamedModel> named_embeddings(const graph::Json& prompt, const graph::NodeRegistry& nodes, const registry::Library& library);

// A text of such a class that a node makes during the run, so that which embeddings it names is not known before.
struct MadeText {
  std::string node, class_type, input;
  std::string made_by;  // "CLASS (ID)"
};

// In the order of the prompt, one for each node and input. Links are followed through nodes that hand on a constant.
std::vector<MadeText> made_texts(const graph::Json& prompt, const graph::NodeRegistry& nodes);

}  // namespace veneer::engine
