// The composition root: builds the services, the nodes' registry and the executor, and turns their answers into the public types.
#include "veneer/engine.h"

#include <algorithm>

#include "base/profile_report.h"
#include "engine/cancel_watch.h"
#include "engine/convert_workflow.h"
#include "engine/core.h"
#include "engine/dump_graph.h"
#include "engine/job_observer.h"
#include "engine/load_report.h"
#include "engine/open_variant.h"
#include "engine/output_folder.h"
#include "engine/validate_workflow.h"
#include "engine/validation_error.h"
#include "engine/variant_report.h"
#include "engine/verify_checkpoint.h"
#include "engine/workflow_input.h"
#include "engine/workflow_models.h"
#include "graph/executor.h"
#include "graph/json_text.h"
#include "graph/validation.h"
#include "nodes/model_store.h"
#include "nodes/services.h"

namespace veneer {
namespace {

std::string detail_of(const graph::InputDef& input, const graph::Environment& environment) {
  std::string detail;
  const auto add = [&](const std::string& text) { detail += (detail.empty() ? "" : ", ") + text; };
  if (!input.default_value.is_null()) add("default " + graph::dump_json(input.default_value));
  std::string range;
  if (!input.min.is_null()) range = "from " + graph::dump_json(input.min);
  if (!input.max.is_null()) range += (range.empty() ? "up to " : " to ") + graph::dump_json(input.max);
  if (!range.empty()) add(range);
  if (input.is_choice()) {
    std::string choices;
    for (const std::string& option : input.current_options(environment)) choices += (choices.empty() ? "" : " | ") + option;
    add("one of: " + choices);
  }
  return detail;
}

NodeInfo describe_node(const graph::NodeDef& def, const graph::Environment& environment) {
  NodeInfo info;
  info.class_type = def.class_type;
  info.display_name = def.display_name.empty() ? def.class_type : def.display_name;
  info.category = def.category;
  info.description = def.description;
  for (const graph::InputDef& input : def.inputs) {
    if (input.section == graph::InputSection::hidden) continue;
    info.inputs.push_back({input.name, input.type, input.section == graph::InputSection::required, detail_of(input, environment)});
  }
  for (const graph::OutputDef& output : def.outputs) info.outputs.emplace_back(output.name.empty() ? output.type : output.name, output.type);
  return info;
}

ProfileReport report_of(Profile& profile) {
  const std::vector<ProfileEvent> events = profile.take();
  ProfileReport report = profile_report(events);
  report.trace = chrome_trace(events);
  report.dropped = profile.dropped();
  return report;
}

}  // namespace

struct Engine::Impl {
  explicit Impl(const EngineOptions& options) : core(options), executor(core.make_executor()) {}
  engine::Core core;
  std::unique_ptr<graph::Executor> executor;
  int runs = 0;
};

Engine::Engine(const EngineOptions& options) : impl_(std::make_unique<Impl>(options)) {}

Engine::~Engine() = default;

JobResult Engine::run_workflow(std::string_view workflow, const JobOptions& options) {
  engine::WorkflowInput input = engine::read_workflow(workflow, impl_->core.registry());
  engine::apply_overrides(input.prompt, options, impl_->core.registry());
  engine::resolve_models(input.prompt, impl_->core);
  const graph::Validation validation = graph::validate_prompt(std::move(input.prompt), impl_->core.registry(), impl_->core.environment());
  // The editor runs what is left of a prompt of which one output is broken; a command that was asked for all of it does not.
  if (!validation.ok() || !validation.node_errors.empty())
    throw engine::validation_error(validation, impl_->core.registry(), impl_->core.environment());

  engine::require_writable(impl_->core.folders().output);

  graph::ExecutionRequest request;
  request.prompt_id = std::to_string(++impl_->runs);
  request.outputs = validation.outputs;
  request.extra_pnginfo = std::move(input.extra_pnginfo);
  Profile* profile = impl_->core.environment().get<nodes::ComputeSettings>().profile.get();
  if (profile != nullptr) profile->take();  // of a job that failed
  engine::JobObserver observer(options, impl_->core.environment().get<nodes::ImageFolders>(), profile);
  const engine::CancelWatch watch(options.cancelled, request.cancel);
  const graph::ExecutionResult run = impl_->executor->run(validation.prompt, request, observer);
  impl_->core.trim();
  JobResult result = observer.finish(run);
  if (profile != nullptr) result.profile = report_of(*profile);
  const std::vector<std::string> remarks = engine::remark_lines(input.remarks);
  result.reports.insert(result.reports.begin(), remarks.begin(), remarks.end());
  return result;
}

const std::vector<PluginInfo>& Engine::plugins() const { return impl_->core.plugins(); }

ConvertedWorkflow Engine::convert_workflow(std::string_view workflow) const { return engine::convert_workflow(workflow, impl_->core.registry()); }

WorkflowReport Engine::validate(std::string_view workflow, const ValidateOptions& options) const {
  return engine::validate_workflow(workflow, impl_->core.registry(), impl_->core.environment(), options);
}

PortableWorkflow Engine::make_portable(std::string_view workflow) const {
  return engine::make_portable(workflow, impl_->core.registry(), impl_->core.environment());
}

std::string Engine::dump_graph(std::string_view workflow, GraphFormat format) const {
  return engine::dump_graph(workflow, format, impl_->core.registry(), impl_->core.environment());
}

std::string Engine::lock_workflow(std::string_view workflow, const HashProgress& progress) const {
  return engine::lock_workflow(workflow, impl_->core.registry(), impl_->core.environment(), progress);
}

MemoryAccount Engine::memory() const { return impl_->core.memory(); }

JobResult Engine::text_to_image(const TextToImage& request, const JobOptions& options) {
  TextToImage named = request;
  for (auto& [name, strength] : named.loras) name = engine::lora_name(impl_->core.models().folders(), name);
  return run_workflow(text_to_image_workflow(named), options);
}

VariantReport Engine::describe(const VariantRequest& request) const {
  return engine::report_of(engine::open_variant(impl_->core.models(), request), request);
}

VerifyReport Engine::verify(const std::string& model, const std::function<void()>& between) const {
  return engine::verify_checkpoint(impl_->core.models(), model, between);
}

LoadReport Engine::load(const VariantRequest& request) const {
  LoadReport report = engine::load_variant(engine::open_variant(impl_->core.models(), request), request);
  impl_->core.trim();
  return report;
}

std::vector<NodeInfo> Engine::nodes() const {
  std::vector<NodeInfo> out;
  for (const graph::NodeDef* def : impl_->core.registry().all()) out.push_back(describe_node(*def, impl_->core.environment()));
  std::sort(out.begin(), out.end(), [](const NodeInfo& a, const NodeInfo& b) { return a.class_type < b.class_type; });
  return out;
}

NodeInfo Engine::node(const std::string& class_type) const { return describe_node(impl_->core.registry().at(class_type), impl_->core.environment()); }

std::vector<std::string> Engine::models(const std::string& kind) const { return impl_->core.models().folders().list(kind); }

}  // namespace veneer
