#include <cstdio>
#include <filesystem>
#include <memory>

#include "command.h"
#include "engine_flags.h"
#include "error_report.h"
#include "findings.h"
#include "hash_progress.h"
#include "output_file.h"
#include "plugin_report.h"
#include "terminal_text.h"
#include "workflow_file.h"

namespace veneer::cli {
namespace {

constexpr int kInvalid = 1;
constexpr int kNothingDone = 2;

struct ValidateFlags {
  EngineFlags flags;
  std::string workflow;
  std::string lock;
  std::string fix;
  bool strict = false;
  bool no_models = false;
  bool no_lock = false;
};

// The lock beside the workflow, if there is one and no other was named.
std::string lock_file(const ValidateFlags& options) {
  if (!options.lock.empty()) return options.lock;
  if (options.no_lock || options.workflow == "-") return {};
  const std::string beside = lock_beside(options.workflow);
  std::error_code unknown;
  return std::filesystem::is_regular_file(beside, unknown) ? beside : std::string();
}

nlohmann::ordered_json models_json(const std::vector<WorkflowModel>& models) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const WorkflowModel& model : models) {
    out.push_back({{"node", model.node},
                   {"class_type", model.class_type},
                   {"input", model.input},
                   {"kind", model.kind},
                   {"reference", model.reference},
                   {"name", model.name},
                   {"file", model.file},
                   {"size", model.size_bytes},
                   {"sha256", model.sha256},
                   {"type", model.type},
                   {"family", model.family}});
  }
  return out;
}

void print_json_report(const WorkflowReport& report, const PortableWorkflow& portable) {
  nlohmann::ordered_json out = {{"valid", report.valid}, {"form", report.form}, {"nodes", report.nodes}};
  out["errors"] = report.count(WorkflowFinding::Severity::error);
  out["warnings"] = report.count(WorkflowFinding::Severity::warning);
  out["findings"] = to_json(report.findings);
  out["models"] = models_json(report.models);
  out["changes"] = to_json(portable.changes);
  print_json(out);
}

void print_report(const ValidateFlags& options, const WorkflowReport& report, const PortableWorkflow& portable, bool locked) {
  print_findings(report.findings, stdout);
  const size_t errors = report.count(WorkflowFinding::Severity::error);
  const size_t warnings = report.count(WorkflowFinding::Severity::warning);
  std::printf("%s: %s, %zu nodes (%s form), %zu models, %zu errors, %zu warnings%s\n", printable(options.workflow).c_str(),
              report.valid ? "valid" : "invalid", report.nodes, report.form.c_str(), report.models.size(), errors, warnings,
              locked ? ", compared with its lock" : "");
  if (options.fix.empty()) return;
  print_findings(portable.changes, stdout);
  std::printf("%s: %zu changes\n", printable(options.fix).c_str(), portable.changes.size());
}

int validate(const ValidateFlags& options) {
  WorkflowReport report;
  PortableWorkflow portable;
  const std::string lock = lock_file(options);
  try {
    refuse_same_file(options.workflow, options.fix);
    refuse_same_file(lock, options.fix);
    const Engine engine(options.flags.options);
    report_refused(engine.plugins());
    const std::string workflow = read_workflow_file(options.workflow);
    ValidateOptions how;
    how.strict = options.strict;
    how.check_models = !options.no_models;
    if (!lock.empty()) how.lock = read_lock_file(lock);
    how.on_hash = HashProgressLine(options.flags.json).callback();
    report = engine.validate(workflow, how);
    if (!options.fix.empty()) {
      portable = engine.make_portable(workflow);
      write_output(options.fix, portable.text);
    }
  } catch (const Error& error) {
    cli::report(about(error, options.workflow, lock), options.flags.json);
    return kNothingDone;
  }
  if (options.flags.json) {
    print_json_report(report, portable);
  } else {
    print_report(options, report, portable, !lock.empty());
  }
  return report.valid ? 0 : kInvalid;
}

}  // namespace

Command add_validate_command(CLI::App& app) {
  auto options = std::make_shared<ValidateFlags>();
  CLI::App* sub = app.add_subcommand("validate", "check a workflow without running it");
  sub->add_option("workflow", options->workflow, "WORKFLOW.json, PICTURE.png, or - for standard input")->required();
  sub->add_flag("--strict", options->strict, "warnings are errors, and values have to be of the declared types");
  sub->add_option("--fix", options->fix, "write a portable copy of the workflow to this file")->type_name("FILE");
  sub->add_option("--lock", options->lock, "compare the models with this lock; default: WORKFLOW.lock.json if it exists")->type_name("FILE");
  sub->add_flag("--no-lock", options->no_lock, "do not look for a lock");
  sub->add_flag("--no-models", options->no_models, "do not open the model files");
  options->flags.add_model_flags(*sub);
  options->flags.add_plugin_flags(*sub);
  options->flags.add_folder_flags(*sub);
  sub->footer(
      "example: veneer validate workflows/txt2img.json\n"
      "exit codes: 0 valid, 1 invalid, 2 unreadable, or the copy cannot be written\n"
      "rules: docs/workflows.md");
  return {sub, [options] { return validate(*options); }};
}

}  // namespace veneer::cli
