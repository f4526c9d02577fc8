#include "bench/picture_run.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/checkpoint_file.h"
#include "veneer/engine.h"

namespace veneer::bench {
namespace {

using Json = nlohmann::json;

// Of a clock that all processes share.
int64_t now_ns() { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A line of /proc/self/status in bytes.
double status_bytes(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(wanted + ":")) return 1024.0 * std::strtod(line.c_str() + wanted.size() + 1, nullptr);
  }
  return 0;
}

// Looks at the process's own memory until it ends.
class MemoryWatch {
 public:
  MemoryWatch()
      : thread_([this] {
          while (!done_) {
            peak_ = std::max(peak_, status_bytes("RssAnon") + status_bytes("RssShmem"));
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  ~MemoryWatch() { stop(); }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  double stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return peak_;
  }

 private:
  std::atomic<bool> done_ = false;
  double peak_ = 0;
  std::thread thread_;
};

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

PictureResult run_picture(const PictureRequest& request) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = quoted(self) + " --child " + quoted(request.models.string()) + " " + std::to_string(request.width) + " " +
                              std::to_string(request.steps) + " " + request.dtype + " " + std::to_string(request.threads) + " " +
                              std::to_string(now_ns());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  if (!pipe) throw std::runtime_error("the program cannot start itself");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(c);
  const Json said = Json::parse(text, nullptr, false);
  if (said.is_discarded()) throw std::runtime_error("a picture failed: " + text);
  PictureResult out;
  out.seconds = said.at("seconds");
  out.start_seconds = said.at("start_seconds");
  out.step_seconds = said.at("step_seconds");
  out.outside_share = said.at("outside_share");
  out.unet_seconds = said.at("unet_seconds");
  out.weights_bytes = said.at("weights_bytes");
  out.first_weights_bytes = said.at("first_weights_bytes");
  out.peak_bytes = said.at("peak_bytes");
  out.peak_with_file_bytes = said.at("peak_with_file_bytes");
  return out;
}

int picture_child(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (arguments.size() != 6) return 2;
  const int64_t start = std::strtoll(arguments[5].c_str(), nullptr, 10);
  MemoryWatch watch;
  EngineOptions options;
  options.model_folders = {arguments[0]};
  options.output_folder = arguments[0] + "/output";
  options.dtype = arguments[3];
  options.threads = std::atoi(arguments[4].c_str());
  options.profile = true;
  Engine engine(options);
  TextToImage request;
  request.model = CheckpointFolder::kName;
  request.prompt = "a lighthouse on a cliff above a stormy sea, oil painting, thick strokes, evening light";
  request.negative = "blurry, low quality, text";
  request.width = request.height = std::atoi(arguments[1].c_str());
  request.steps = std::atoi(arguments[2].c_str());
  std::vector<double> steps;
  double first_weights = 0;
  JobOptions job;
  job.on_progress = [&](const ProgressEvent& event) {
    if (event.kind != ProgressEvent::Kind::step || event.class_type != "KSampler") return;
    if (steps.empty()) first_weights = static_cast<double>(engine.memory().resident_bytes);
    steps.push_back(1e-9 * static_cast<double>(now_ns() - start));
  };
  const JobResult result = engine.text_to_image(request, job);
  const double seconds = 1e-9 * static_cast<double>(now_ns() - start);
  const double step = steps.size() > 1 ? (steps.back() - steps.front()) / static_cast<double>(steps.size() - 1) : 0;
  const Json out = {{"seconds", seconds},
                    {"start_seconds", steps.empty() ? seconds : steps.front() - step},
                    {"step_seconds", step},
                    {"outside_share", result.profile->step_outside_share},
                    {"unet_seconds", result.profile->unet_seconds},
                    {"weights_bytes", engine.memory().peak_resident_bytes},
                    {"first_weights_bytes", first_weights},
                    {"peak_bytes", watch.stop()},
                    {"peak_with_file_bytes", status_bytes("VmHWM")}};
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

}  // namespace veneer::bench
