#include "engine/validate_workflow.h"
#include "graph/json.h"

namespace veneer::engine {
namespace {

using graph::Json;

const char* word_of(WorkflowFinding::Severity severity) {
  switch (severity) {
    case WorkflowFinding::Severity::error: return "error";
    case WorkflowFinding::Severity::warning: return "warning";
    case WorkflowFinding::Severity::note: break;
  }
  return "note";
}

// Values are JSON already; one that no reader would take, such as NaN, stays a text.
Json value_json(const std::string& value) {
  if (value.empty()) return {};
  Json parsed = Json::parse(value, nullptr, false);
  return parsed.is_discarded() ? Json(value) : parsed;
}

Json finding_json(const WorkflowFinding& finding) {
  Json out = {{"severity", word_of(finding.severity)}, {"node", finding.node}, {"class_type", finding.class_type}};
  out["input"] = finding.input;
  out["rule"] = finding.rule;
  out["message"] = finding.message;
  out["value"] = value_json(finding.value);
  out["allowed"] = finding.allowed;
  out["nearest"] = finding.nearest;
  return out;
}

Json model_json(const WorkflowModel& model) {
  Json out = {{"node", model.node}, {"class_type", model.class_type}, {"input", model.input}, {"kind", model.kind}};
  out["reference"] = model.reference;
  out["name"] = model.name;
  out["file"] = model.file;
  out["size"] = model.size_bytes;
  out["sha256"] = model.sha256;
  out["type"] = model.type;
  out["family"] = model.family;
  return out;
}

}  // namespace

std::string report_json(const WorkflowReport& report) {
  Json out = {{"valid", report.valid}, {"form", report.form}, {"nodes", report.nodes}};
  out["errors"] = report.count(WorkflowFinding::Severity::error);
  out["warnings"] = report.count(WorkflowFinding::Severity::warning);
  out["findings"] = Json::array();
  for (const WorkflowFinding& finding : report.findings) out["findings"].push_back(finding_json(finding));
  out["models"] = Json::array();
  for (const WorkflowModel& model : report.models) out["models"].push_back(model_json(model));
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace veneer::engine
