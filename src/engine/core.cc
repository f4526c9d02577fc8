#include "engine/core.h"

#include "base/parallel.h"
#include "compute/block_cache.h"
#include "compute/cpu.h"
#include "engine/precision.h"
#include "engine/runtime_options.h"
#include "graph/value_tracker.h"
#include "nodes/latent_preview.h"
#include "nodes/model_store.h"
#include "nodes/model_tracking.h"
#include "nodes/nodes.h"
#include "nodes/output_counters.h"
#include "nodes/saved_files.h"
#include "nodes/services.h"
#include "plugins/load_plugins.h"
#include "registry/extra_model_paths.h"
#include "registry/library.h"

namespace veneer::engine {
namespace {

std::vector<std::filesystem::path> roots_of(const EngineOptions& options) {
  std::vector<std::filesystem::path> roots(options.model_folders.begin(), options.model_folders.end());
  for (const auto& root : roots) {
    if (!std::filesystem::is_directory(root)) throw Error(ErrorCode::not_found, "no such model folder", {{"folder", root.string()}});
  }
  return roots;
}

std::shared_ptr<const registry::ModelFolders> model_folders(const EngineOptions& options) {
  auto folders = std::make_shared<registry::ModelFolders>(roots_of(options));
  for (const std::string& file : options.extra_model_paths) registry::add_extra_model_paths(*folders, file, options.home_folder);
  return folders;
}

nodes::ImageFolders image_folders(const EngineOptions& options) {
  const std::filesystem::path output = options.output_folder;
  return {options.input_folder, output, options.temp_folder.empty() ? output / "temp" : std::filesystem::path(options.temp_folder)};
}

// Plug-ins come last: what is there already is not theirs to replace.
graph::NodeRegistry make_registry(std::vector<graph::NodeDef> more, const EngineOptions& options, std::vector<PluginInfo>& plugins) {
  graph::NodeRegistry registry(nodes::all_nodes());
  for (graph::NodeDef& def : more) registry.add(std::move(def));
  plugins::LoadOptions how;
  how.folders = options.plugin_folders;
  how.probe = options.plugin_probe;
  plugins::Loaded loaded = plugins::load_plugins(how, [&](const std::string& class_type) { return registry.find(class_type) != nullptr; });
  for (graph::NodeDef& def : loaded.nodes) registry.add(std::move(def));
  for (plugins::Report& report : loaded.reports) {
    plugins.push_back({std::move(report.name), std::move(report.file), std::move(report.classes), std::move(report.refused)});
  }
  return registry;
}

}  // namespace

struct Core::Impl {
  Impl(const EngineOptions& options, Additions additions)
      : precision(choose_precision(options.dtype, [&] { return rates_of_machine(options.cache_folder); })),
        image_folders(std::make_shared<nodes::ImageFolders>(engine::image_folders(options))),
        folders{image_folders->input, image_folders->output, image_folders->temp},
        runtime(make_runtime(options, precision.weights)),
        model_folders(engine::model_folders(options)),
        models(std::make_shared<nodes::ModelStore>(model_folders, runtime, precision.compute)),
        registry(make_registry(std::move(additions.nodes), options, plugins)) {
    environment.add(image_folders);
    environment.add(models);
    environment.add(std::make_shared<registry::Library>(model_folders, options.cache_folder));
    environment.add(std::make_shared<graph::ValueTracking>(nodes::track_models(usage, models, switches)));
    environment.add(std::make_shared<nodes::ComputeSettings>(
        nodes::ComputeSettings{.dtype = precision.compute, .scratch = *scratch, .profile = options.profile ? std::make_shared<Profile>() : nullptr}));
    environment.add(std::make_shared<nodes::OutputCounters>());
    environment.add(std::make_shared<graph::RecordCheck>(nodes::check_saved_files(image_folders)));
    if (additions.previews) environment.add(std::make_shared<nodes::LatentPreviews>());
  }

  Precision precision;
  std::shared_ptr<compute::BlockCache> scratch = std::make_shared<compute::BlockCache>();
  std::shared_ptr<nodes::ImageFolders> image_folders;
  Folders folders;
  std::shared_ptr<const variant::Runtime> runtime;
  std::shared_ptr<const registry::ModelFolders> model_folders;
  std::shared_ptr<variant::ModelUsage> usage = std::make_shared<variant::ModelUsage>();
  std::shared_ptr<nodes::ModelStore> models;
  std::shared_ptr<nodes::VariantSwitches> switches = std::make_shared<nodes::VariantSwitches>();
  std::vector<PluginInfo> plugins;
  graph::NodeRegistry registry;
  graph::Environment environment;
};

Core::Core(const EngineOptions& options, Additions additions) {
  if (options.threads < 0) throw Error(ErrorCode::invalid, "threads: not below 0", {{"threads", std::to_string(options.threads)}});
  if (!options.max_isa.empty()) compute::set_max_isa(options.max_isa);
  set_num_threads(options.threads);
  impl_ = std::make_unique<Impl>(options, std::move(additions));
}

Core::~Core() = default;

const graph::NodeRegistry& Core::registry() const { return impl_->registry; }

const std::vector<PluginInfo>& Core::plugins() const { return impl_->plugins; }

const graph::Environment& Core::environment() const { return impl_->environment; }

std::unique_ptr<graph::Executor> Core::make_executor(const graph::ExecutorOptions& options) const {
  return std::make_unique<graph::Executor>(impl_->registry, impl_->environment, options);
}

const Core::Folders& Core::folders() const { return impl_->folders; }

nodes::ModelStore& Core::models() const { return *impl_->models; }

const variant::Runtime& Core::runtime() const { return *impl_->runtime; }

void Core::trim() const { impl_->runtime->residents->trim(residency::ResidentSet::kUnlimited); }

void Core::release() const {
  impl_->runtime->residents->trim(0);
  impl_->scratch->trim();
}

MemoryAccount Core::memory() const { return account_of(*impl_->runtime); }

Core::Activity Core::activity() const {
  const residency::ResidentSet& set = *impl_->runtime->residents;
  return {.variant_switches = impl_->switches->count(),
          .weights_built = set.num_builds(),
          .built_bytes = set.built_bytes(),
          .weights_evicted = set.num_evictions(),
          .evicted_bytes = set.evicted_bytes(),
          .mapped_bytes = impl_->models->mapped_bytes()};
}

}  // namespace veneer::engine
