// Findings about workflows from what the graph room says of them.
#pragma once

#include <string>
#include <vector>

#include "graph/editor/editor_remark.h"
#include "veneer/workflow.h"

namespace veneer::engine {

// Losses are errors, the rest notes.
WorkflowFinding finding_of(const graph::EditorRemark& remark);
std::vector<WorkflowFinding> findings_of(const std::vector<graph::EditorRemark>& remarks);

// Nobody reads more of them.
inline constexpr size_t kMostFindings = 10'000;

// Errors first, then warnings; otherwise as they were found. Those over kMostFindings are cut, which a last note says.
void sort_findings(std::vector<WorkflowFinding>& findings);

}  // namespace veneer::engine
