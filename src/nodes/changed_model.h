// The common shape of nodes that give a changed variant of their model.
#pragma once

#include <utility>

#include "graph/node_def.h"
#include "nodes/values.h"

namespace veneer::nodes {

// A clone of the variant in the input "model" that `change` has been at, as output MODEL. The input stays as it is.
template <typename Change>
graph::NodeResult changed_model(const graph::Inputs& in, Change change) {
  ModelValue model = in.get<ModelValue>("model");
  model.patcher = model.patcher.clone();
  change(model);
  return {graph::Value::of("MODEL", std::move(model))};
}

}  // namespace veneer::nodes
