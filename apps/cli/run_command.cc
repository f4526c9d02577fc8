#include <memory>
#include <optional>

#include "command.h"
#include "engine_flags.h"
#include "job_runner.h"
#include "value_checks.h"
#include "workflow_file.h"

namespace veneer::cli {
namespace {

struct RunOptions {
  EngineFlags flags;
  std::string workflow;
  std::vector<std::string> set;
  std::optional<uint64_t> seed;
};

// "NODE.INPUT=VALUE"; a node id may contain dots, an input name does not.
std::pair<std::string, std::string> parse_set(const std::string& text) {
  const size_t equals = text.find('=');
  const size_t dot = equals == std::string::npos ? std::string::npos : text.rfind('.', equals);
  if (dot == std::string::npos || dot == 0 || dot + 1 == equals) {
    throw Error(ErrorCode::invalid, "--set takes NODE.INPUT=VALUE", {{"value", text}, {"example", "--set 3.steps=30"}});
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

Command add_run_command(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("run", "run a workflow (ComfyUI's API format, or a PNG that carries one)");
  sub->add_option("workflow", options->workflow, "WORKFLOW.json, PICTURE.png, or - for standard input")->required();
  sub->add_option("--set", options->set, "replace an input of a node, e.g. --set 3.steps=30")->type_name("NODE.INPUT=VALUE")->take_all();
  sub->add_option("--seed", options->seed, "replace every seed in the workflow, 0 to 18446744073709551615")->transform(seed_value());
  options->flags.add_to(*sub);
  options->flags.add_profile_flag(*sub);
  sub->footer("example: veneer run workflows/txt2img.json --models models/demo --set 4.text=\"a green tree at sunset\" --seed 7");
  return {sub, [options] {
            const std::string workflow = read_workflow_file(options->workflow);
            JobOptions job;
            for (const std::string& text : options->set) job.set.push_back(parse_set(text));
            job.seed = options->seed;
            return run_job(options->flags, job, [&](Engine& engine, const JobOptions& with) {
              try {
                return engine.run_workflow(workflow, with);
              } catch (const Error& error) {
                if (error.code() == ErrorCode::cancelled) throw;
                throw error.with("workflow", options->workflow);
              }
            });
          }};
}

}  // namespace veneer::cli
