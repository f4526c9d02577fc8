#include <memory>

#include "command.h"
#include "engine_flags.h"
#include "error_report.h"
#include "findings.h"
#include "output_file.h"
#include "workflow_file.h"

namespace veneer::cli {
namespace {

struct ConvertOptions {
  EngineFlags flags;
  std::string workflow;
  std::string output = "-";
};

constexpr int kIncomplete = 1;
constexpr int kNothingDone = 2;

int convert(const ConvertOptions& options) {
  const Engine engine(options.flags.options);
  ConvertedWorkflow converted;
  try {
    refuse_same_file(options.workflow, options.output);
    converted = engine.convert_workflow(read_workflow_file(options.workflow));
    if (options.output != "-" || !options.flags.json) write_output(options.output, converted.prompt + "\n");
  } catch (const Error& error) {
    report(error.with("workflow", options.workflow), options.flags.json);
    return kNothingDone;
  }
  if (options.flags.json) {
    nlohmann::ordered_json out = {{"from_editor", converted.from_editor}, {"nodes", converted.nodes}};
    out["prompt"] = nlohmann::ordered_json::parse(converted.prompt);
    out["findings"] = to_json(converted.findings);
    print_json(out);
  } else {
    print_findings(converted.findings, stderr);
    if (options.output != "-") {
      std::printf("%s: %zu nodes%s\n", options.output.c_str(), converted.nodes, converted.from_editor ? "" : " (it was in API format already)");
    }
  }
  return count_errors(converted.findings) == 0 ? 0 : kIncomplete;
}

}  // namespace

Command add_convert_workflow_command(CLI::App& app) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* sub = app.add_subcommand("convert-workflow", "turn the form that the editor saves into the API format");
  sub->add_option("workflow", options->workflow, "WORKFLOW.json, PICTURE.png, or - for standard input")->required();
  sub->add_option("-o,--output", options->output, "file to write; - for standard output")->type_name("FILE")->capture_default_str();
  options->flags.add_model_flags(*sub);
  options->flags.add_plugin_flags(*sub);
  sub->footer(
      "example: veneer convert-workflow drawn.json -o prompt.json\n"
      "exit codes: 0 converted, 1 converted but something of it is missing (it is named), 2 unreadable, or the output cannot be written");
  return {sub, [options] { return convert(*options); }};
}

}  // namespace veneer::cli
