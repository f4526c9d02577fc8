#include <memory>

#include "command.h"
#include "engine_flags.h"
#include "output_file.h"
#include "workflow_file.h"

namespace veneer::cli {
namespace {

struct DumpFlags {
  EngineFlags flags;
  std::string workflow;
  std::string output = "-";
  bool dot = false;
  bool svg = false;
};

int dump(const DumpFlags& options) {
  refuse_same_file(options.workflow, options.output);
  const Engine engine(options.flags.options);
  const GraphFormat format = options.dot ? GraphFormat::dot : options.svg ? GraphFormat::svg : GraphFormat::json;
  try {
    write_output(options.output, engine.dump_graph(read_workflow_file(options.workflow), format));
  } catch (const Error& error) {
    throw error.with("workflow", options.workflow);
  }
  return 0;
}

}  // namespace

Command add_dump_graph_command(CLI::App& app) {
  auto options = std::make_shared<DumpFlags>();
  CLI::App* sub = app.add_subcommand("dump-graph", "print a workflow's nodes in the order in which they would run");
  sub->add_option("workflow", options->workflow, "WORKFLOW.json, PICTURE.png, or - for standard input")->required();
  CLI::Option* dot = sub->add_flag("--dot", options->dot, "for Graphviz instead of JSON");
  sub->add_flag("--svg", options->svg, "a picture instead of JSON")->excludes(dot);
  sub->add_option("-o,--output", options->output, "file to write; - for standard output")->type_name("FILE")->capture_default_str();
  options->flags.add_model_flags(*sub);
  options->flags.add_plugin_flags(*sub);
  sub->footer("example: veneer dump-graph workflows/txt2img.json | jq '.nodes[] | select(.class_type==\"KSampler\") | .inputs'");
  return {sub, [options] { return dump(*options); }};
}

}  // namespace veneer::cli
