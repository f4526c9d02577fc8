// Findings about a workflow, for people and for machines.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "veneer/workflow.h"

namespace veneer::cli {

// "error", "warning" or "note".
const char* word_of(WorkflowFinding::Severity severity);

nlohmann::ordered_json to_json(const std::vector<WorkflowFinding>& findings);

// A table: severity, node, input, rule, what is wrong; below a row the value, and what may have been meant and is allowed.
void print_findings(const std::vector<WorkflowFinding>& findings, std::FILE* out);

size_t count_errors(const std::vector<WorkflowFinding>& findings);

}  // namespace veneer::cli
