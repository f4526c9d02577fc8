// Node classes that the recordings of the protocol use: they report, fail and show on demand.
#pragma once

#include <vector>

#include "graph/node_def.h"

namespace veneer::testing {

std::vector<graph::NodeDef> recording_nodes();

}  // namespace veneer::testing
