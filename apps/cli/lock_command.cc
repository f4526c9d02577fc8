#include <cstdio>
#include <memory>

#include "command.h"
#include "engine_flags.h"
#include "error_report.h"
#include "findings.h"
#include "hash_progress.h"
#include "interruption.h"
#include "output_file.h"
#include "terminal_text.h"
#include "workflow_file.h"

namespace veneer::cli {
namespace {

struct LockFlags {
  EngineFlags flags;
  std::string workflow;
  std::string output;
  std::string check;
};

constexpr int kDiffers = 1;

bool is_lock_rule(const WorkflowFinding& finding) {
  return finding.rule.starts_with("lock_") || finding.rule == "not_locked" || finding.rule == "value_not_in_list" ||
         finding.rule == "model_unreadable" || finding.rule == "embedding_not_found" || finding.rule == "reference_not_found" ||
         finding.rule == "text_not_known";
}

int check(const LockFlags& options, const Engine& engine, const std::string& workflow) {
  ValidateOptions how;
  how.lock = read_lock_file(options.check);
  how.on_hash = HashProgressLine(options.flags.json).callback();
  WorkflowReport report;
  try {
    report = engine.validate(workflow, how);
  } catch (const Error& error) {
    throw about(error, options.workflow, options.check);
  }
  std::erase_if(report.findings, [](const WorkflowFinding& finding) { return !is_lock_rule(finding); });
  const bool same = count_errors(report.findings) == 0;
  if (options.flags.json) {
    print_json({{"same", same}, {"models", report.models.size()}, {"findings", to_json(report.findings)}});
  } else {
    print_findings(report.findings, stdout);
    std::printf("%s: %s\n", printable(options.workflow).c_str(), same ? "the models are those of the lock" : "the models differ from the lock");
  }
  return same ? 0 : kDiffers;
}

int lock(const LockFlags& options) {
  const std::string output = !options.output.empty() ? options.output : options.workflow == "-" ? "-" : lock_beside(options.workflow);
  if (options.check.empty()) refuse_same_file(options.workflow, output);
  const Interruption interruption;
  const Engine engine(options.flags.options);
  const std::string workflow = read_workflow_file(options.workflow);
  if (!options.check.empty()) return check(options, engine, workflow);
  const std::string text = engine.lock_workflow(workflow, HashProgressLine(options.flags.json).callback());
  write_output(output, text);
  const auto json = nlohmann::ordered_json::parse(text);
  if (options.flags.json && output != "-") {
    print_json({{"lock", output}, {"models", json.at("models")}});
  } else if (output != "-") {
    for (const auto& model : json.at("models")) {
      std::printf("%s  %s/%s\n", model.at("sha256").get<std::string>().c_str(), model.at("kind").get<std::string>().c_str(),
                  printable(model.at("name").get<std::string>()).c_str());
    }
    for (const auto& made : json.value("not_known", nlohmann::ordered_json::array())) {
      std::printf("not known before the run: embeddings in the text of node %s, which is made by %s\n",
                  printable(made.at("node").get<std::string>()).c_str(), printable(made.at("made_by").get<std::string>()).c_str());
    }
    std::printf("%s: %zu models\n", printable(output).c_str(), json.at("models").size());
  }
  return 0;
}

}  // namespace

Command add_lock_command(CLI::App& app) {
  auto options = std::make_shared<LockFlags>();
  CLI::App* sub = app.add_subcommand("lock", "write down size and SHA-256 of every model that a workflow uses, or compare with that");
  sub->add_option("workflow", options->workflow, "WORKFLOW.json, PICTURE.png, or - for standard input")->required();
  sub->add_option("-o,--output", options->output, "file to write; default: WORKFLOW.lock.json; - for standard output")->type_name("FILE");
  sub->add_option("--check", options->check, "compare the models here with this lock")->type_name("LOCK");
  options->flags.add_model_flags(*sub);
  options->flags.add_plugin_flags(*sub);
  sub->footer(
      "example: veneer lock workflows/txt2img.json -o txt2img.lock.json\n"
      "exit codes: 0 written, or all the same; 1 an error, or other models");
  return {sub, [options] { return lock(*options); }};
}

}  // namespace veneer::cli
