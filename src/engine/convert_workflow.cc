#include "engine/convert_workflow.h"

#include "engine/workflow_findings.h"
#include "engine/workflow_input.h"

namespace veneer::engine {

ConvertedWorkflow convert_workflow(std::string_view workflow, const graph::NodeRegistry& registry) {
  const WorkflowInput input = read_workflow(workflow, registry);
  ConvertedWorkflow out;
  out.prompt = input.prompt.dump(2, ' ', false, graph::Json::error_handler_t::replace);
  out.from_editor = input.from_editor;
  out.nodes = input.prompt.size();
  out.findings = findings_of(input.remarks);
  sort_findings(out.findings);
  return out;
}

}  // namespace veneer::engine
