// The composition root: builds the services, the nodes' registry and the executor, and turns their answers into the public types.
#include "veneer/engine.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/parallel.h"
#include "compute/block_cache.h"
#include "compute/cpu.h"
#include "engine/cancel_watch.h"
#include "engine/job_observer.h"
#include "engine/load_report.h"
#include "engine/open_variant.h"
#include "engine/output_folder.h"
#include "engine/runtime_options.h"
#include "engine/validation_error.h"
#include "engine/variant_report.h"
#include "engine/verify_checkpoint.h"
#include "engine/workflow_input.h"
#include "graph/executor.h"
#include "graph/json_text.h"
#include "graph/validation.h"
#include "nodes/model_store.h"
#include "nodes/model_tracking.h"
#include "nodes/nodes.h"
#include "nodes/services.h"

namespace veneer {
namespace {

DType compute_dtype(const std::string& name) {
  if (name == "auto") return compute::bf16_native() ? DType::bf16 : DType::f32;
  if (name == "f32") return DType::f32;
  if (name == "bf16") {
    if (!compute::bf16_supported())
      throw Error(ErrorCode::unsupported, "this CPU cannot compute in bf16", {{"dtype", name}, {"allowed", "auto f32"}});
    return DType::bf16;
  }
  throw Error(ErrorCode::invalid, "unknown dtype", {{"dtype", name}, {"allowed", "auto f32 bf16"}});
}

std::vector<std::filesystem::path> roots_of(const EngineOptions& options) {
  std::vector<std::filesystem::path> roots(options.model_folders.begin(), options.model_folders.end());
  for (const auto& root : roots) {
    if (!std::filesystem::is_directory(root)) throw Error(ErrorCode::not_found, "no such model folder", {{"folder", root.string()}});
  }
  return roots;
}

nodes::ImageFolders image_folders(const EngineOptions& options) {
  const std::filesystem::path output = options.output_folder;
  return {options.input_folder, output, options.temp_folder.empty() ? output / "temp" : std::filesystem::path(options.temp_folder)};
}

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

}  // namespace

struct Engine::Impl {
  explicit Impl(const EngineOptions& options)
      : dtype(compute_dtype(options.dtype)),
        folders(std::make_shared<nodes::ImageFolders>(image_folders(options))),
        runtime(engine::make_runtime(options)),
        models(std::make_shared<nodes::ModelStore>(std::make_shared<const registry::ModelFolders>(roots_of(options)), runtime, dtype)),
        registry(nodes::all_nodes()),
        executor(registry, environment) {
    environment.add(folders);
    environment.add(models);
    environment.add(std::make_shared<graph::ValueTracking>(nodes::track_models(usage)));
    environment.add(std::make_shared<nodes::ComputeSettings>(nodes::ComputeSettings{dtype, *scratch}));
  }

  DType dtype;
  std::shared_ptr<compute::BlockCache> scratch = std::make_shared<compute::BlockCache>();
  std::shared_ptr<nodes::ImageFolders> folders;
  std::shared_ptr<const variant::Runtime> runtime;
  std::shared_ptr<variant::ModelUsage> usage = std::make_shared<variant::ModelUsage>();
  std::shared_ptr<nodes::ModelStore> models;
  graph::NodeRegistry registry;
  graph::Environment environment;
  graph::Executor executor;
  int runs = 0;
};

Engine::Engine(const EngineOptions& options) {
  if (options.threads < 0) throw Error(ErrorCode::invalid, "threads: not below 0", {{"threads", std::to_string(options.threads)}});
  if (!options.max_isa.empty()) compute::set_max_isa(options.max_isa);
  set_num_threads(options.threads);
  impl_ = std::make_unique<Impl>(options);
}

Engine::~Engine() = default;

JobResult Engine::run_workflow(std::string_view workflow, const JobOptions& options) {
  engine::WorkflowInput input = engine::read_workflow(workflow);
  engine::apply_overrides(input.prompt, options, impl_->registry);
  const graph::Validation validation = graph::validate_prompt(std::move(input.prompt), impl_->registry, impl_->environment);
  // The editor runs what is left of a prompt of which one output is broken; a command that was asked for all of it does not.
  if (!validation.ok() || !validation.node_errors.empty()) throw engine::validation_error(validation, impl_->registry, impl_->environment);

  engine::require_writable(impl_->folders->output);

  graph::ExecutionRequest request;
  request.prompt_id = std::to_string(++impl_->runs);
  request.outputs = validation.outputs;
  request.extra_pnginfo = std::move(input.extra_pnginfo);
  engine::JobObserver observer(options, *impl_->folders);
  const engine::CancelWatch watch(options.cancelled, request.cancel);
  const graph::ExecutionResult run = impl_->executor.run(validation.prompt, request, observer);
  impl_->runtime->residents->trim(residency::ResidentSet::kUnlimited);
  return observer.finish(run);
}

MemoryAccount Engine::memory() const { return engine::account_of(*impl_->runtime); }

JobResult Engine::text_to_image(const TextToImage& request, const JobOptions& options) {
  TextToImage named = request;
  for (auto& [name, strength] : named.loras) name = engine::lora_name(impl_->models->folders(), name);
  return run_workflow(text_to_image_workflow(named), options);
}

VariantReport Engine::describe(const VariantRequest& request) const {
  return engine::report_of(engine::open_variant(*impl_->models, request), request);
}

VerifyReport Engine::verify(const std::string& model, const std::function<void()>& between) const {
  return engine::verify_checkpoint(*impl_->models, model, between);
}

LoadReport Engine::load(const VariantRequest& request) const {
  LoadReport report = engine::load_variant(engine::open_variant(*impl_->models, request), request);
  impl_->runtime->residents->trim(residency::ResidentSet::kUnlimited);
  return report;
}

std::vector<NodeInfo> Engine::nodes() const {
  std::vector<NodeInfo> out;
  for (const graph::NodeDef* def : impl_->registry.all()) out.push_back(describe_node(*def, impl_->environment));
  std::sort(out.begin(), out.end(), [](const NodeInfo& a, const NodeInfo& b) { return a.class_type < b.class_type; });
  return out;
}

NodeInfo Engine::node(const std::string& class_type) const { return describe_node(impl_->registry.at(class_type), impl_->environment); }

std::vector<std::string> Engine::models(const std::string& kind) const { return impl_->models->folders().list(kind); }

}  // namespace veneer
