// Cached values that keep a model in memory whose file is another by now.
#pragma once

#include "graph/value.h"
#include "nodes/model_store.h"

namespace veneer::nodes {

// Whether the value holds a variant of such a base. Where a file of adapters is stale, whether it holds a variant with patches: made again, it costs
// a header.
bool is_stale(const graph::Value& value, const ModelStore::Stale& stale);

}  // namespace veneer::nodes
