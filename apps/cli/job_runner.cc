#include "job_runner.h"

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "progress_bar.h"

namespace veneer::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// The first signal asks the job to end; a second one ends the program.
extern "C" void note_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

nlohmann::ordered_json to_json(const JobResult& result, double seconds) {
  nlohmann::ordered_json images = nlohmann::ordered_json::array();
  for (const SavedImage& image : result.images) {
    images.push_back(
        {{"node", image.node}, {"path", image.path}, {"filename", image.filename}, {"subfolder", image.subfolder}, {"type", image.type}});
  }
  nlohmann::ordered_json out = {{"images", std::move(images)}, {"reports", result.reports}};
  out["outputs"] = nlohmann::ordered_json::parse(result.outputs_json);
  out["nodes_run"] = result.nodes_run;
  out["nodes_cached"] = result.nodes_cached;
  out["seconds"] = seconds;
  return out;
}

void print_text(const JobResult& result, double seconds) {
  for (const std::string& report : result.reports) std::fprintf(stderr, "note: %s\n", report.c_str());
  for (const SavedImage& image : result.images) std::printf("%s\n", image.path.c_str());
  std::fprintf(stderr, "%zu %s in %.1f s\n", result.images.size(), result.images.size() == 1 ? "picture" : "pictures", seconds);
}

}  // namespace

int run_job(const EngineFlags& flags, JobOptions options, const std::function<JobResult(Engine&, const JobOptions&)>& job) {
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
  ProgressBar bar(flags.json);
  options.on_progress = [&](const ProgressEvent& event) { bar.show(event); };
  options.cancelled = [] { return interrupted != 0; };

  const auto start = std::chrono::steady_clock::now();
  Engine engine(flags.options);
  const JobResult result = job(engine, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  bar.finish();
  if (flags.json) {
    std::printf("%s\n", to_json(result, seconds).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  } else {
    print_text(result, seconds);
  }
  return 0;
}

}  // namespace veneer::cli
