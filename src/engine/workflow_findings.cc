#include "engine/workflow_findings.h"

#include <algorithm>
#include <utility>

namespace veneer {

size_t WorkflowReport::count(WorkflowFinding::Severity severity) const {
  return static_cast<size_t>(std::ranges::count(findings, severity, &WorkflowFinding::severity));
}

namespace engine {

WorkflowFinding finding_of(const graph::EditorRemark& remark) {
  WorkflowFinding finding;
  finding.severity = remark.loss ? WorkflowFinding::Severity::error : WorkflowFinding::Severity::note;
  finding.node = remark.node;
  finding.class_type = remark.class_type;
  finding.input = remark.input;
  finding.rule = remark.rule;
  finding.message = remark.text;
  return finding;
}

std::vector<WorkflowFinding> findings_of(const std::vector<graph::EditorRemark>& remarks) {
  std::vector<WorkflowFinding> findings;
  findings.reserve(remarks.size());
  for (const graph::EditorRemark& remark : remarks) findings.push_back(finding_of(remark));
  return findings;
}

void sort_findings(std::vector<WorkflowFinding>& findings) {
  std::ranges::stable_sort(findings, {}, &WorkflowFinding::severity);
  if (findings.size() < kMostFindings) return;
  findings.resize(kMostFindings - 1);
  WorkflowFinding last;
  last.severity = WorkflowFinding::Severity::note;
  last.rule = "more_findings";
  last.message = "there are more findings than are told";
  findings.push_back(std::move(last));
}

}  // namespace engine
}  // namespace veneer
