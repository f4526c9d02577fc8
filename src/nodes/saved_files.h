// The files that records for the editor name.
#pragma once

#include <memory>

#include "graph/record_check.h"
#include "nodes/services.h"

namespace veneer::nodes {

// A picture that was saved and is gone is saved again when its node is asked for it, though nothing else changed.
graph::RecordCheck check_saved_files(std::shared_ptr<const ImageFolders> folders);

}  // namespace veneer::nodes
