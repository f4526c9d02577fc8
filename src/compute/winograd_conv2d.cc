#include "compute/winograd_conv2d.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/parallel.h"
#include "compute/winograd_kernels.h"

namespace veneer::compute::winograd {
namespace {

constexpr int64_t kBlock = kChannels;

Tiling tiling_of(const Layer& layer, int64_t height, int64_t width) {
  const ConvGeometry& g = layer.geometry;
  return {.taps = layer.kernel_height,
          .pad_top = g.pad_top,
          .pad_left = g.pad_left,
          .height = height,
          .width = width,
          .result_height = height + g.pad_top + g.pad_bottom - layer.kernel_height + 1,
          .result_width = width + g.pad_left + g.pad_right - layer.kernel_width + 1};
}

size_t divided_up(size_t count, size_t by) { return (count + by - 1) / by; }

// How a batch is worked on. Where there are chunks of tiles for all threads, each thread takes some through all steps. Else, and for few tiles,
// threads transform the input of some chunks together; then each block of results of each chunk is a task.
struct Plan {
  bool by_chunks = false;
  size_t tiles = 0, chunk = 0;  // tiles in all and of a chunk
  size_t chunks = 0, at_once = 0;
  size_t blocks = 0, panels = 0;

  // Of the transformed input: 8 KB for each channel.
  size_t chunk_floats() const { return panels * kPositions * kTileStep; }
  TileRange tiles_of(size_t number) const {
    const size_t first = number * chunk;
    return {first, std::min(chunk, tiles - first)};
  }
};

// The share of their time that threads have nothing to do.
double idle(size_t tasks, size_t threads) { return 1.0 - static_cast<double>(tasks) / static_cast<double>(divided_up(tasks, threads) * threads); }

Plan plan_of(const Layer& layer, const Tiling& tiling, int64_t batch, size_t threads) {
  Plan plan;
  plan.tiles = static_cast<size_t>(batch * tiling.rows() * tiling.columns());
  plan.blocks = static_cast<size_t>(layer.out / kBlock);
  plan.panels = static_cast<size_t>(layer.in / kBlock);
  const size_t fewest = divided_up(plan.tiles, kTiles);
  plan.by_chunks = fewest >= 2 * threads || threads == 1;
  // Weights are transformed for every chunk, so that few tiles are not divided among many threads.
  constexpr size_t kFewestTiles = 32;
  const size_t wanted = plan.by_chunks ? divided_up(fewest, threads) * threads
                                       : std::max(fewest, std::min(divided_up(threads, plan.blocks), plan.tiles / kFewestTiles));
  plan.chunk = divided_up(plan.tiles, wanted);
  plan.chunks = divided_up(plan.tiles, plan.chunk);
  constexpr size_t kMostFloats = size_t{16} << 20;
  constexpr double kLittle = 0.05;
  const size_t most = plan.by_chunks ? 1 : std::clamp<size_t>(kMostFloats / plan.chunk_floats(), 1, plan.chunks);
  plan.at_once = 1;
  for (size_t n = 2; n <= most && idle(plan.at_once * plan.blocks, threads) > kLittle; ++n) {
    if (idle(n * plan.blocks, threads) < idle(plan.at_once * plan.blocks, threads)) plan.at_once = n;
  }
  return plan;
}

// One call of convolve().
class Convolution {
 public:
  Convolution(Context& context, const Layer& layer, const Tensor& x, const Tensor& weights, const Finish& finish, float* result)
      : context_(context),
        x_(x.data<float>()),
        weights_(weights),
        finish_(finish),
        result_(result),
        in_(static_cast<size_t>(layer.in)),
        out_(static_cast<size_t>(layer.out)),
        tiling_(tiling_of(layer, x.dim(1), x.dim(2))),
        plan_(plan_of(layer, tiling_, x.dim(0), static_cast<size_t>(num_threads()))) {}

  void run() const { plan_.by_chunks ? run_by_chunks() : run_by_blocks(); }

 private:
  static constexpr size_t kBlockFloats = kPositions * (kTileStep + kWeightStep);

  struct Scratch {
    std::shared_ptr<std::byte> owner;
    float* floats = nullptr;
  };
  Scratch scratch(size_t floats) const {
    auto owner = context_.scratch.allocate(floats * sizeof(float));
    auto* const first = reinterpret_cast<float*>(owner.get());
    return {std::move(owner), first};
  }

  void run_by_chunks() const {
    parallel_for(plan_.chunks, 1, [&](size_t begin, size_t end) {
      const Scratch input = scratch(plan_.chunk_floats()), work = scratch(kBlockFloats);
      for (size_t chunk = begin; chunk < end; ++chunk) {
        transform_input(tiling_, x_, in_, plan_.tiles_of(chunk), input.floats);
        for (size_t block = 0; block < plan_.blocks; ++block) make_block(plan_.tiles_of(chunk), block, input.floats, work.floats);
      }
    });
  }

  void run_by_blocks() const {
    const Scratch input = scratch(plan_.at_once * plan_.chunk_floats());
    for (size_t first = 0; first < plan_.chunks; first += plan_.at_once) {
      const size_t chunks = std::min(plan_.at_once, plan_.chunks - first);
      constexpr size_t kRun = 16;  // tiles that share the rows of pixels they read
      const size_t runs = divided_up(plan_.chunk, kRun);
      parallel_for(chunks * runs, 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const size_t chunk = i / runs, offset = i % runs * kRun;
          const TileRange tiles = plan_.tiles_of(first + chunk);
          if (offset >= tiles.count) continue;
          transform_input(tiling_, x_, in_, {tiles.first + offset, std::min(kRun, tiles.count - offset)},
                          input.floats + chunk * plan_.chunk_floats() + offset * kChannels);
        }
      });
      parallel_for(chunks * plan_.blocks, 1, [&](size_t begin, size_t end) {
        const Scratch work = scratch(kBlockFloats);
        for (size_t i = begin; i < end; ++i) {
          // Chunks of one block follow each other, and find its weights in the cache.
          const size_t block = i / chunks, chunk = i % chunks;
          make_block(plan_.tiles_of(first + chunk), block, input.floats + chunk * plan_.chunk_floats(), work.floats);
        }
      });
    }
  }

  void make_block(TileRange tiles, size_t block, const float* input, float* sums) const {
    float* const panel_weights = sums + kPositions * kTileStep;
    for (size_t panel = 0; panel < plan_.panels; ++panel) {
      transform_weights(weights_, tiling_, in_, block, panel * kChannels, panel_weights);
      multiply(input + panel * kPositions * kTileStep, panel_weights, tiles.count, panel == 0, sums);
    }
    transform_result(tiling_, sums, tiles, finish_, out_, block, result_);
  }

  Context& context_;
  const float* x_;
  const Tensor& weights_;
  const Finish& finish_;
  float* result_;
  size_t in_, out_;
  Tiling tiling_;
  Plan plan_;
};

}  // namespace

bool wins(const Layer& layer, int64_t height, int64_t width) {
  const ConvGeometry& g = layer.geometry;
  const int64_t taps = layer.kernel_height;
  if (taps != layer.kernel_width || (taps != 2 && taps != 3) || g.stride != 1 || g.enlarges) return false;
  if (layer.in % kBlock != 0 || layer.out % kBlock != 0 || height < 1 || width < 1) return false;
  const Tiling tiling{.taps = taps, .result_height = height, .result_width = width};
  const double tiles = static_cast<double>(tiling.rows()) * static_cast<double>(tiling.columns());
  const double pixels = static_cast<double>(height) * static_cast<double>(width);
  const double in = static_cast<double>(layer.in), out = static_cast<double>(layer.out);
  // Time in multiplications, as measured with AVX512: 70 ns for 16 channels of a tile's pixels or sums, 35 ns for 16 weights of a chunk.
  constexpr double kOfTransform = 350, kOfWeight = 175, kGain = 0.9;
  const double chunks = std::max(1.0, tiles / static_cast<double>(kTiles));
  const double here = tiles * (kPositions * in * out + kOfTransform * (in + out)) + kOfWeight * chunks * in * out;
  return here < kGain * pixels * static_cast<double>(taps * taps) * in * out;
}

void convolve(Context& context, const Layer& layer, const Tensor& x, const Tensor& weights, const Tensor& bias, const Epilogue& epilogue, Tensor& y) {
  const Finish finish{.bias = bias.defined() ? bias.data<float>() : nullptr,
                      .activation = epilogue.activation,
                      .residual = epilogue.residual != nullptr ? epilogue.residual->data<float>() : nullptr};
  Convolution(context, layer, x, weights, finish, y.mutable_data<float>()).run();
}

}  // namespace veneer::compute::winograd
