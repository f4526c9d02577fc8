#include "engine/validate_workflow.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "engine/editor_models.h"
#include "engine/graph_findings.h"
#include "engine/model_checks.h"
#include "engine/portability.h"
#include "engine/prompt_embeddings.h"
#include "engine/workflow_findings.h"
#include "engine/workflow_input.h"
#include "engine/workflow_lock.h"
#include "registry/library.h"

namespace veneer::engine {
namespace {

using graph::Json;
using Severity = WorkflowFinding::Severity;

void append(std::vector<WorkflowFinding>& to, std::vector<WorkflowFinding> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Where a path or a reference is to blame, that the value is in no list says nothing more; its suggestions are kept.
void drop_repeated(std::vector<WorkflowFinding>& findings) {
  constexpr std::array<std::string_view, 5> kCauses = {"absolute_path", "drive_letter", "home_folder", "parent_folder", "reference_not_found"};
  std::map<std::pair<std::string, std::string>, WorkflowFinding*> causes;
  for (WorkflowFinding& finding : findings) {
    if (std::ranges::find(kCauses, finding.rule) != kCauses.end()) causes.emplace(std::pair(finding.node, finding.input), &finding);
  }
  std::vector<bool> repeated(findings.size(), false);
  for (size_t i = 0; i < findings.size(); ++i) {
    const auto cause = causes.find({findings[i].node, findings[i].input});
    if (findings[i].rule != "value_not_in_list" || cause == causes.end()) continue;
    cause->second->nearest = findings[i].nearest;
    cause->second->allowed = findings[i].allowed;
    repeated[i] = true;
  }
  size_t index = 0;
  std::erase_if(findings, [&](const WorkflowFinding&) { return repeated[index++]; });
}

// Classes and values that the conversion remarks on are judged by validation; what is lost is not seen there.
std::vector<WorkflowFinding> conversion_findings(const WorkflowInput& input) {
  std::vector<WorkflowFinding> findings = findings_of(input.remarks);
  std::erase_if(findings, [](const WorkflowFinding& finding) { return finding.rule == "unknown_class"; });
  return findings;
}

// Those that inputs choose, and those that prompts name.
std::vector<NamedModel> all_models(Json& prompt, const graph::NodeRegistry& nodes, registry::Library& library) {
  std::vector<NamedModel> out = resolve_models(prompt, nodes, library);
  std::vector<NamedModel> embeddings = named_embeddings(prompt, nodes, library);
  out.insert(out.end(), std::make_move_iterator(embeddings.begin()), std::make_move_iterator(embeddings.end()));
  return out;
}

std::vector<WorkflowFinding> made_text_findings(const Json& prompt, const graph::NodeRegistry& nodes) {
  std::vector<WorkflowFinding> out;
  for (MadeText& text : made_texts(prompt, nodes)) {
    WorkflowFinding finding;
    finding.severity = Severity::note;
    finding.node = std::move(text.node);
    finding.class_type = std::move(text.class_type);
    finding.input = std::move(text.input);
    finding.rule = "text_not_known";
    finding.message = "which embeddings the text names is not known before the run: it is made by " + text.made_by;
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace

WorkflowReport validate_workflow(std::string_view workflow, const graph::NodeRegistry& nodes, const graph::Environment& environment,
                                 const ValidateOptions& options) {
  WorkflowInput input = read_workflow(workflow, nodes);
  auto& library = environment.get<registry::Library>();
  WorkflowReport report;
  report.form = input.from_editor ? "editor" : "api";
  report.nodes = input.prompt.size();
  report.findings = conversion_findings(input);
  append(report.findings, portability_findings(input.prompt, nodes));
  const std::vector<NamedModel> named = all_models(input.prompt, nodes, library);
  CheckedModels checked = check_models(named, library, options.check_models);
  report.models = std::move(checked.models);
  append(report.findings, std::move(checked.findings));
  append(report.findings, made_text_findings(input.prompt, nodes));
  append(report.findings, graph_findings(input.prompt, nodes, environment, options.strict));
  append(report.findings, flow_findings(input.prompt, nodes, checked.facts));
  if (input.extra_pnginfo.is_object() && input.extra_pnginfo.contains("workflow")) {
    append(report.findings, editor_model_findings(input.extra_pnginfo.at("workflow"), library, options.check_models, options.on_hash));
  }
  if (!options.lock.empty()) append(report.findings, lock_findings(read_lock(options.lock), named, library, options.on_hash));
  drop_repeated(report.findings);
  if (options.strict) {
    for (WorkflowFinding& finding : report.findings) {
      if (finding.severity == Severity::warning) finding.severity = Severity::error;
    }
  }
  sort_findings(report.findings);
  report.valid = report.count(Severity::error) == 0;
  return report;
}

std::string lock_workflow(std::string_view workflow, const graph::NodeRegistry& nodes, const graph::Environment& environment,
                          const HashProgress& progress) {
  WorkflowInput input = read_workflow(workflow, nodes);
  auto& library = environment.get<registry::Library>();
  return write_lock(all_models(input.prompt, nodes, library), made_texts(input.prompt, nodes), library, progress);
}

}  // namespace veneer::engine
