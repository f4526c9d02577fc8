#include "bench/picture_figures.h"

#include <fstream>
#include <vector>

#include "base/parallel.h"
#include "bench/picture_run.h"
#include "compute/cpu.h"

namespace veneer::bench {
namespace {

constexpr double kMega = 1e-6;

// Puts the file's pages into the system's cache, as they are when a model was used before.
void read_once(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<char> block(size_t{1} << 24);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size()))) {
  }
}

}  // namespace

void measure_picture(BenchSetup& setup, const std::filesystem::path& models) {
  PictureRequest request{.models = models, .width = 512, .steps = setup.quick ? 3 : 20};
  request.dtype = compute::bf16_supported() ? "bf16" : "f32";
  request.threads = num_threads();
  const PictureResult at = run_picture(request);
  const std::string name = "512x512, " + std::to_string(request.steps) + " steps, " + request.dtype;
  Figure picture{
      .group = "picture", .name = name, .value = at.seconds, .unit = "s", .ratio = at.unet_seconds / at.seconds, .ratio_of = "it in the UNet"};
  picture.more = {{"step_seconds", at.step_seconds}, {"start_seconds", at.start_seconds}};
  setup.report.add(std::move(picture));
  Figure outside{.group = "picture", .name = "a step outside of the UNet", .value = 100 * at.outside_share, .unit = "%", .ratio = at.outside_share};
  outside.ratio_of = "the step";
  outside.target = Target{0.01, true};
  setup.report.add(std::move(outside));
  const double allowed = at.weights_bytes + 700e6;
  Figure memory{.group = "picture", .name = "memory, " + name, .value = kMega * at.peak_bytes, .unit = "MB", .ratio = at.peak_bytes / allowed};
  memory.ratio_of = "packed weights + 700 MB";
  if (request.dtype == "bf16") memory.target = Target{1, true};
  memory.more = {{"weights_bytes", at.weights_bytes}, {"with_file_bytes", at.peak_with_file_bytes}};
  setup.report.add(std::move(memory));
}

void measure_cold_start(BenchSetup& setup, const std::filesystem::path& models, const std::filesystem::path& file) {
  read_once(file);
  // Small, so that the step itself is short; what precedes it is the same at every size.
  PictureRequest request{.models = models, .width = 64, .steps = 4, .threads = num_threads()};
  PictureResult best;
  setup.rounds.run([&] {
    setup.machine.copy();
    const PictureResult at = run_picture(request);
    if (best.seconds == 0 || at.start_seconds < best.start_seconds) best = at;
    return at.seconds;
  });
  // The file has as many weights in f16, and they are kept in 16 bits.
  const double bytes_read = best.first_weights_bytes;
  const double ideal = 1e-9 * (bytes_read + best.first_weights_bytes) / setup.machine.copy(), allowed = 1.5 * ideal + 0.1;
  Figure figure{.group = "start", .name = "process start to the first step", .value = best.start_seconds, .unit = "s"};
  figure.ratio = best.start_seconds / allowed;
  figure.ratio_of = "1.5 x packing at copy speed + 0.1 s";
  figure.target = Target{1, true};
  figure.more = {{"packing_at_copy_speed_seconds", ideal}, {"weights_bytes", best.first_weights_bytes}};
  setup.report.add(std::move(figure));
  setup.report.add({.group = "start", .name = "packing these weights at copy speed", .value = ideal, .unit = "s"});
  setup.report.add(
      {.group = "start", .name = "first touch of as much memory", .value = 1e-9 * best.first_weights_bytes / first_touch_rate(), .unit = "s"});
}

}  // namespace veneer::bench
