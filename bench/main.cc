// veneer-bench: first what the machine can do, then whole networks and pictures as parts of that, then single ops with Google Benchmark.
// docs/performance.md says what the figures are; --help lists the flags.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "bench/checkpoint_file.h"
#include "bench/file_figures.h"
#include "bench/machine.h"
#include "bench/network_figures.h"
#include "bench/picture_figures.h"
#include "bench/picture_run.h"
#include "bench/variant_figures.h"
#include "compute/cpu.h"
#include "models/family/random_model.h"
#include "veneer/version.h"

namespace veneer::bench {
namespace {

constexpr std::array kGroups = {"machine", "unet", "text", "vae", "threads", "scaling", "picture", "start", "variants", "files", "ops"};

struct Options {
  std::vector<std::string> groups;
  int threads = 0;
  bool quick = false;
  std::string json, baseline, checkpoint, folder = ".", write_checkpoint;
  double tolerance = 0.1;
  int64_t variants_latent = 64;
  std::vector<std::string> for_ops;  // Google Benchmark's flags

  bool has(const char* group) const { return std::ranges::find(groups, group) != groups.end(); }
};

// The names that these flags had before groups.
void add_shorthands(CLI::App& app, Options& options) {
  const auto choose = [&](std::vector<std::string> groups) { return [&options, groups = std::move(groups)](int64_t) { options.groups = groups; }; };
  app.add_flag("--machine_only", choose({"machine"}), "--groups machine");
  app.add_flag("--networks_only", choose({"machine", "unet"}), "--groups machine,unet");
  app.add_option_function<int64_t>(
         "--variants_only",
         [&](const int64_t& latent) {
           options.groups = {"variants"};
           options.variants_latent = latent;
         },
         "--groups variants, at 8 times this width")
      ->expected(0, 1)
      ->default_str("64")
      ->type_name("LATENT");
  app.add_option_function<std::string>(
         "--files_only",
         [&](const std::string& folder) {
           options.groups = {"files"};
           options.folder = folder;
         },
         "--groups files, in this folder")
      ->expected(0, 1)
      ->default_str(".")
      ->type_name("FOLDER");
}

void add_options(CLI::App& app, Options& options) {
  options.groups = {"machine", "unet", "text", "vae", "threads", "picture", "start", "variants", "files", "ops"};
  app.add_option("--groups", options.groups, "what to measure; scaling is for plots and not among the default ones")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(kGroups.begin(), kGroups.end())))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "0: one per core")->check(CLI::Range(0, 1024))->capture_default_str();
  app.add_flag("--quick", options.quick, "what has a target, with fewer rounds");
  app.add_option("--json", options.json, "write the figures to FILE")->type_name("FILE");
  app.add_option("--baseline", options.baseline,
                 "compare with the --json FILE of an earlier run, by parts of each run's machine; the exit code is 3 "
                 "when a figure is worse by more than --tolerance")
      ->type_name("FILE");
  app.add_option("--tolerance", options.tolerance, "of --baseline")->capture_default_str();
  app.add_option("--checkpoint", options.checkpoint, "a file of SD 1.5's layout to draw pictures with, in place of a random one")->type_name("FILE");
  app.add_option("--write-checkpoint", options.write_checkpoint, "write the random checkpoint (2.1 GB) and end")->type_name("FILE");
  app.add_option("--folder", options.folder, "where files are made and removed again; 5 GB")->type_name("FOLDER")->capture_default_str();
  add_shorthands(app, options);
  app.footer("Flags of Google Benchmark (--benchmark_filter=REGEX, ...) choose among the ops.");
  app.allow_extras();
}

void measure_networks(BenchSetup& setup, const Options& options) {
  if (!options.has("unet") && !options.has("text") && !options.has("vae") && !options.has("threads") && !options.has("scaling")) return;
  const models::LoadedCheckpoint random = models::random_sd15(DType::f16, 1);
  if (options.has("unet")) measure_unet(setup, random.unet);
  if (options.has("text")) measure_text(setup, *random.clip);
  if (options.has("vae")) measure_vae(setup, *random.vae);
  if (options.has("threads")) measure_threads(setup, random.unet);
  if (options.has("scaling")) measure_scaling(setup, random.unet);
}

void measure_pictures(BenchSetup& setup, const Options& options) {
  if (!options.has("picture") && !options.has("start")) return;
  const CheckpointFolder folder(options.folder, options.checkpoint);
  if (options.has("start")) measure_cold_start(setup, folder.folder(), folder.file());
  if (options.has("picture")) measure_picture(setup, folder.folder());
}

int run_ops(const Options& options, const char* program) {
  std::vector<std::string> arguments{program};
  arguments.insert(arguments.end(), options.for_ops.begin(), options.for_ops.end());
  std::vector<char*> pointers;
  pointers.reserve(arguments.size());
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

int run(const Options& options, const char* program) {
  if (!options.write_checkpoint.empty()) {
    write_random_checkpoint(options.write_checkpoint);
    return 0;
  }
  set_num_threads(options.threads);
  Machine machine;
  Report report;
  report.set_machine({{"threads", std::to_string(num_threads())},
                      {"kernels", std::string(compute::kernel_isa())},
                      {"amx", compute::amx_native() ? "yes" : "no"},
                      {"version", version()},
                      {"commit", build_commit()}});
  std::printf("threads %d, kernels %s%s\n", num_threads(), std::string(compute::kernel_isa()).c_str(), compute::amx_native() ? ", AMX" : "");
  BenchSetup setup{machine, report, {}, options.quick};
  if (options.quick) setup.rounds = {.least = 1, .most = 3, .seconds = 4};
  if (options.has("machine")) measure_machine(setup);
  measure_networks(setup, options);
  measure_pictures(setup, options);
  if (options.has("variants")) print_variant_figures(DType::f32, machine.copy(), options.variants_latent);
  if (options.has("files")) print_file_figures(options.folder);
  report.print_targets();
  if (!options.json.empty()) report.write_json(options.json);
  const int worse = options.baseline.empty() ? 0 : report.print_comparison(options.baseline, options.tolerance);
  const int failed = options.has("ops") ? run_ops(options, program) : 0;
  if (failed != 0) return failed;
  return worse > 0 ? 3 : 0;
}

}  // namespace
}  // namespace veneer::bench

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::strcmp(argv[1], "--child") == 0) return veneer::bench::picture_child(argc - 2, argv + 2);
    veneer::bench::Options options;
    CLI::App app("Measures this machine, and what Veneer makes of it.");
    veneer::bench::add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    options.for_ops = app.remaining();
    return veneer::bench::run(options, argv[0]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "veneer-bench: %s\n", error.what());
    return 1;
  }
}
