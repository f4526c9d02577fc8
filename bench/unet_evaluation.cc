#include "bench/unet_evaluation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "bench/counting_view.h"
#include "compute/block_cache.h"
#include "models/family/checkpoint.h"
#include "models/family/random_model.h"
#include "residency/resident_set.h"
#include "variant/model_patcher.h"

namespace veneer::bench {
namespace {

constexpr int64_t kTextTokens = 77;

Tensor pattern(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 2654435761U) % 2048) / 1024.0F - 1.0F;
  return Tensor::from(shape, values);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

UnetFigures measure_unet(DType dtype, int64_t batch, int64_t latent, int rounds) {
  const models::UnetConfig config = models::sd15_unet_config();
  const auto network = std::make_shared<const models::Unet>(config);
  const auto base = variant::BaseModel::create("sd1", network->architecture().table, models::random_weights(network->architecture(), DType::f16, 1),
                                               "random weights");
  auto residents = std::make_shared<residency::ResidentSet>();
  const auto view = variant::ModelPatcher(base, residents, dtype).open_view();
  CountingView counting(*view, kTextTokens);
  compute::BlockCache scratch;
  compute::Context context{.scratch = scratch, .dtype = dtype};

  const Tensor x = pattern({batch, config.in_channels, latent, latent});
  const Tensor text = pattern({batch, kTextTokens, config.context_dim});
  const std::vector<float> timesteps(static_cast<size_t>(batch), 500.0F);
  UnetFigures figures;
  auto start = std::chrono::steady_clock::now();
  network->forward(counting, context, x, timesteps, text);
  figures.first_seconds = seconds_since(start);
  figures.seconds = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    counting.reset();
    start = std::chrono::steady_clock::now();
    network->forward(counting, context, x, timesteps, text);
    figures.seconds = std::min(figures.seconds, seconds_since(start));
  }
  figures.gflop = counting.flops() / 1e9;
  figures.packed_bytes = static_cast<double>(residents->size_bytes());
  figures.peak_activation_bytes = static_cast<double>(scratch.peak_bytes());
  return figures;
}

}  // namespace veneer::bench
