#include "job_runner.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "error_report.h"
#include "interruption.h"
#include "memory_json.h"
#include "output_file.h"
#include "plugin_report.h"
#include "profile_output.h"
#include "progress_bar.h"
#include "terminal_text.h"

namespace veneer::cli {
namespace {

nlohmann::ordered_json to_json(const std::vector<SavedImage>& images) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const SavedImage& image : images) {
    out.push_back({{"node", image.node}, {"path", image.path}, {"filename", image.filename}, {"subfolder", image.subfolder}, {"type", image.type}});
  }
  return out;
}

// What a run leaves to tell.
struct Outcome {
  JobResult result;
  MemoryAccount memory;
  std::string profile_file;
  double seconds = 0;
};

nlohmann::ordered_json to_json(const Outcome& run) {
  nlohmann::ordered_json out = {{"images", to_json(run.result.images)}, {"reports", run.result.reports}};
  out["outputs"] = nlohmann::ordered_json::parse(run.result.outputs_json);
  out["nodes_run"] = run.result.nodes_run;
  out["nodes_cached"] = run.result.nodes_cached;
  out["seconds"] = run.seconds;
  out["memory"] = totals_json(run.memory);
  if (run.result.profile) out["profile"] = profile_json(*run.result.profile, run.profile_file);
  return out;
}

// A script gets the paths byte for byte; a terminal does not get to obey them.
void print_paths(const std::vector<SavedImage>& images) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  for (const SavedImage& image : images) std::printf("%s\n", (terminal ? printable(image.path) : image.path).c_str());
}

void print_text(const Outcome& run) {
  for (const std::string& note : run.result.reports) std::fprintf(stderr, "note: %s\n", printable(note).c_str());
  if (!run.memory.notice.empty()) std::fprintf(stderr, "note: %s\n", printable(run.memory.notice).c_str());
  print_paths(run.result.images);
  if (run.result.profile) std::fprintf(stderr, "%s", profile_table(*run.result.profile).c_str());
  const size_t count = run.result.images.size();
  std::fprintf(stderr, "%zu %s in %.1f s\n", count, count == 1 ? "picture" : "pictures", run.seconds);
}

}  // namespace

JobResult watch_job(bool quiet, JobOptions options, const std::function<JobResult(const JobOptions&)>& job) {
  const Interruption interruption;
  ProgressBar bar(quiet);
  options.on_progress = [&](const ProgressEvent& event) { bar.show(event); };
  options.cancelled = [] { return interrupted(); };
  return job(options);
}

int run_job(const EngineFlags& flags, JobOptions options, const std::function<JobResult(Engine&, const JobOptions&)>& job) {
  const Interruption interruption;  // until everything is printed
  std::vector<SavedImage> saved;
  options.on_saved = [&](const SavedImage& image) { saved.push_back(image); };
  try {
    const auto start = std::chrono::steady_clock::now();
    Outcome run;
    EngineOptions engine_options = flags.options;
    engine_options.profile = !flags.profile_file.empty();
    if (engine_options.profile) check_profile_file(flags.profile_file);
    run.profile_file = flags.profile_file;
    run.result = watch_job(flags.json, options, [&](const JobOptions& watched) {
      Engine engine(engine_options);
      report_refused(engine.plugins());
      JobResult result = job(engine, watched);
      run.memory = engine.memory();
      return result;
    });
    if (run.result.profile) write_output(flags.profile_file, run.result.profile->trace);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (flags.json) {
      print_json(to_json(run));
    } else {
      print_text(run);
    }
    return 0;
  } catch (const std::exception& exception) {
    // What was saved before is not lost.
    if (!flags.json) print_paths(saved);
    report(as_error(exception), flags.json, {{"images", to_json(saved)}});
    return kFailed;
  }
}

}  // namespace veneer::cli
