#include "engine_flags.h"

#include <cstdlib>
#include <filesystem>

#include "byte_size.h"
#include "value_checks.h"

namespace veneer::cli {
namespace {

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string default_cache() {
  const std::string cache = environment_text("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/veneer";
  const std::string home = environment_text("HOME");
  return home.empty() ? std::string() : home + "/.cache/veneer";
}

// Where a person puts plug-ins for all of veneer's commands: beside what `veneer serve` keeps. Nothing where there is no such folder.
std::vector<std::string> default_plugin_folders() {
  const std::string data = environment_text("XDG_DATA_HOME");
  const std::string home = environment_text("HOME");
  if (data.empty() && home.empty()) return {};
  const std::filesystem::path folder = std::filesystem::path(data.empty() ? home + "/.local/share" : data) / "veneer" / "custom_nodes";
  std::error_code failed;
  return std::filesystem::is_directory(folder, failed) ? std::vector{folder.string()} : std::vector<std::string>();
}

constexpr const char* kMemoryGroup = "Memory and adapters (docs/variants.md)";

}  // namespace

void EngineFlags::add_to(CLI::App& app) {
  add_model_flags(app);
  add_folder_flags(app);
  add_plugin_flags(app);
  add_compute_flags(app);
  add_memory_flags(app);
  add_patch_flags(app);
}

void EngineFlags::add_model_flags(CLI::App& app) {
  options.model_folders = {"models/demo"};
  app.add_option("--models", options.model_folders, "model folders with ComfyUI's sub-folders (checkpoints/, loras/, vae/, ...)")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--extra-model-paths", options.extra_model_paths, "further folders by kind, in ComfyUI's extra_model_paths.yaml")->type_name("FILE");
  options.home_folder = environment_text("HOME");
  options.cache_folder = default_cache();
  app.add_option("--cache", options.cache_folder, "folder for hashes of models and rates of the machine; an empty text: none")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--json", json, "print one JSON object instead of text");
}

void EngineFlags::add_folder_flags(CLI::App& app) {
  app.add_option("--input", options.input_folder, "folder that LoadImage reads from")->type_name("DIR")->capture_default_str();
  app.add_option("--output", options.output_folder, "folder that SaveImage writes to")->type_name("DIR")->check(not_empty())->capture_default_str();
  app.add_option("--temp", options.temp_folder, "folder that PreviewImage writes to; default: temp in the output folder")->type_name("DIR");
}

void EngineFlags::add_plugin_flags(CLI::App& app) {
  options.plugin_folders = default_plugin_folders();
  options.plugin_probe = {"/proc/self/exe", "--probe-plugin"};
  app.add_option(
         "--custom-nodes", options.plugin_folders,
         "folders of node plug-ins (docs/plugins.md), which run with all of this program's rights; default: ~/.local/share/veneer/custom_nodes")
      ->type_name("DIR");
  // Callbacks run in the order in which flags were added: this one has the last word.
  app.add_flag_callback(
      "--disable-all-custom-nodes", [this] { options.plugin_folders.clear(); }, "load no plug-ins");
}

void EngineFlags::add_compute_flags(CLI::App& app) {
  app.add_option("--dtype", options.dtype,
                 "auto (bf16 where the CPU has instructions for it), fastest (bf16 or f32, as measured here once), f32 or bf16")
      ->check(CLI::IsMember({"auto", "fastest", "f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads to compute with; 0: one per core")->check(CLI::Range(0, 1024))->capture_default_str();
  app.add_option("--isa", options.max_isa, "the best instruction set to use, by name; default: what the CPU has")->type_name("NAME");
}

void EngineFlags::add_profile_flag(CLI::App& app) {
  app.add_option("--profile", profile_file, "write where the time went to FILE, for Perfetto or chrome://tracing, and print a table of it")
      ->type_name("FILE")
      ->check(not_empty());
}

void EngineFlags::add_memory_flags(CLI::App& app) {
  const auto set_budget = [this](const std::string& text) {
    options.memory_budget = parse_byte_size(text).value_or(0);
    options.no_resident_weights = options.memory_budget == 0 && text != "auto";
  };
  app.add_option_function<std::string>(
         "--memory-budget", set_budget,
         "ready-to-run weights that may stay in memory: bytes, or 512M, 4GiB, ...; 0: none; auto: most of the memory there is")
      ->type_name("SIZE")
      ->check(byte_size(true))
      ->default_str("auto")
      ->group(kMemoryGroup);
  const auto set_pinned = [this](const std::string& text) { options.pinned_budget = parse_byte_size(text).value_or(0); };
  app.add_option_function<std::string>("--pinned-budget", set_pinned, "how much of model files may be locked in memory, for weights over the budget")
      ->type_name("SIZE")
      ->check(byte_size(false))
      ->default_str("0")
      ->group(kMemoryGroup);
  app.add_option("--lora-apply-mode", options.lora_apply_mode, "auto, materialised (immediately), branch (at_runtime) or on-demand")
      ->type_name("MODE")
      ->transform(apply_mode())
      ->capture_default_str()
      ->group(kMemoryGroup);
  app.add_option("--residency", options.residency,
                 "classic (a plan when a model starts) or dynamic (modules come and go, the next one is fetched ahead)")
      ->check(CLI::IsMember({"classic", "dynamic"}))
      ->capture_default_str()
      ->group(kMemoryGroup);
}

void EngineFlags::add_patch_flags(CLI::App& app) {
  app.add_option("--patch-compat", options.patch_compat, "adapter formats as they are defined, or as ComfyUI computes them (docs/patch-kinds.md)")
      ->check(CLI::IsMember({"standard", "reference"}))
      ->capture_default_str()
      ->group(kMemoryGroup);
}

}  // namespace veneer::cli
