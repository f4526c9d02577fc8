#include "support/workflow_runner.h"

#include <utility>

#include "graph/json_text.h"
#include "graph/validation.h"
#include "nodes/nodes.h"
#include "sampling/latent.h"
#include "veneer/error.h"

namespace veneer::testing {
namespace {

constexpr const char* kCapture = "CaptureLatent";

bool is_sampler(const graph::Json& node) {
  const std::string class_type = node.value("class_type", "");
  return class_type == "KSampler" || class_type == "KSamplerAdvanced";
}

}  // namespace

struct WorkflowRunner::CapturedLatents {
  std::map<std::string, Tensor> by_node;  // id of the capturing node -> samples
};

// Stands behind a sampler and keeps what it gave.
graph::NodeDef WorkflowRunner::capture_node() {
  graph::NodeDef node;
  node.class_type = kCapture;
  node.inputs = {graph::InputDef::socket("samples", "LATENT")};
  node.output_node = true;
  node.not_idempotent = true;
  node.change_fingerprint = [](const graph::Environment&, const graph::Inputs&) { return graph::never_same(); };
  node.run = [](graph::NodeContext& context, const graph::Inputs& in) {
    context.service<CapturedLatents>().by_node[context.node_id()] = in.get<sampling::Latent>("samples").samples;
    return graph::NodeResult{};
  };
  return node;
}

WorkflowRunner::WorkflowRunner(const std::filesystem::path& models, nodes::ImageFolders folders, DType dtype)
    : scratch_(std::make_shared<compute::BlockCache>()),
      folders_(std::make_shared<nodes::ImageFolders>(std::move(folders))),
      captured_(std::make_shared<CapturedLatents>()),
      registry_(nodes::all_nodes()),
      executor_(registry_, environment_) {
  registry_.add(capture_node());
  const std::vector<std::filesystem::path> roots = {models};
  environment_.add(folders_);
  environment_.add(captured_);
  const auto runtime = std::make_shared<const variant::Runtime>(variant::Runtime{.residents = std::make_shared<residency::ResidentSet>()});
  environment_.add(std::make_shared<nodes::ModelStore>(std::make_shared<const registry::ModelFolders>(roots), runtime, dtype));
  environment_.add(std::make_shared<nodes::ComputeSettings>(nodes::ComputeSettings{.dtype = dtype, .scratch = *scratch_}));
}

WorkflowRunner::~WorkflowRunner() = default;

WorkflowRun WorkflowRunner::run(graph::Json prompt, const graph::Json& extra_pnginfo) {
  std::vector<std::string> captures;
  const graph::Json given = prompt;
  for (const auto& [id, node] : given.items()) {
    if (!is_sampler(node)) continue;
    captures.push_back("capture_" + id);
    prompt[captures.back()] = {{"class_type", kCapture}, {"inputs", {{"samples", graph::Json::array({id, 0})}}}};
  }
  const graph::Validation validation = graph::validate_prompt(std::move(prompt), registry_, environment_);
  if (!validation.ok()) {
    throw Error(ErrorCode::invalid, "test: the prompt was refused",
                {{"error", graph::dump_json(validation.error)}, {"nodes", graph::dump_json(validation.node_errors)}});
  }
  graph::ExecutionRequest request;
  request.prompt_id = "test";
  request.outputs = validation.outputs;
  request.extra_pnginfo = extra_pnginfo;
  graph::ExecutionObserver deaf;
  WorkflowRun run;
  captured_->by_node.clear();
  run.result = executor_.run(validation.prompt, request, deaf);
  for (const graph::UiRecord& record : run.result.records) {
    for (const graph::Json& image : record.ui.value("images", graph::Json::array())) {
      const auto& folder = image.at("type") == "temp" ? folders_->temp : folders_->output;
      run.pictures.push_back(folder / image.at("subfolder").get<std::string>() / image.at("filename").get<std::string>());
    }
  }
  for (const std::string& capture : captures) run.latents.push_back(captured_->by_node[capture]);
  return run;
}

}  // namespace veneer::testing
