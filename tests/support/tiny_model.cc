#include "support/tiny_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compute/test_data.h"
#include "models/testing/test_models.h"
#include "nodes/run_network.h"
#include "nodes/values.h"
#include "sampling/sample.h"
#include "tensor/convert.h"

namespace veneer::testing {
namespace {

constexpr int64_t kSide = 8, kTokens = 7;

std::map<std::string, variant::ModelObject> objects() {
  const auto levels = std::make_shared<const sampling::ModelSampling>(sampling::ModelSampling::discrete(sampling::Prediction::eps));
  return {{nodes::kModelSampling, variant::ModelObject::of(levels->fingerprint(), levels)}};
}

sampling::ConditioningEntry prompt(int64_t width, uint32_t seed) {
  sampling::ConditioningEntry entry;
  entry.context = compute::random_tensor({1, kTokens, width}, seed);
  return entry;
}

}  // namespace

TinyModel tiny_model(TinySize size, DType stored, uint32_t seed) {
  TinyModel out;
  models::UnetConfig config = models::testing::tiny_unet_config();
  if (size == TinySize::one_level) config.levels.resize(1);
  out.network = std::make_shared<const models::Unet>(config);
  models::WeightMap weights = models::testing::test_weights(out.network->architecture(), seed);
  for (auto& [key, tensor] : weights) tensor = to_dtype(tensor, stored);
  out.base = variant::BaseModel::create("tiny.unet", out.network->architecture().table, std::move(weights), "tiny.safetensors", objects());
  return out;
}

std::shared_ptr<const variant::Runtime> runtime_with(size_t memory_budget, variant::LoraApplyMode mode, variant::ResidencyMode residency) {
  variant::Runtime runtime;
  runtime.residents = std::make_shared<residency::ResidentSet>(memory_budget);
  runtime.apply_mode = mode;
  runtime.residency = residency;
  return std::make_shared<const variant::Runtime>(std::move(runtime));
}

Tensor sample_latents(const TinyModel& model, const variant::ModelPatcher& patcher, const TinyRun& run) {
  const nodes::ModelValue value{patcher, model.network, {}};
  const nodes::ComputeSettings settings{patcher.compute_dtype(), run.scratch != nullptr ? *run.scratch : system_allocator()};
  const auto levels = patcher.get_model_object<sampling::ModelSampling>(nodes::kModelSampling);
  sampling::SampleRequest request{.model_sampling = *levels, .network = nodes::make_network(value, settings, run.cancel)};
  request.guidance = patcher.model_options().guidance;
  request.positive = {prompt(model.network->config().context_dim, 11)};
  request.negative = {prompt(model.network->config().context_dim, 12)};
  request.latent.samples = Tensor::zeros({run.batch, model.network->config().in_channels, kSide, kSide}, DType::f32);
  request.cfg = run.cfg;
  request.seed = run.seed;
  request.steps = run.steps;
  request.cancel = run.cancel;
  return sampling::sample(request);
}

Tensor evaluate(const TinyModel& model, variant::ModelView& view) {
  compute::Context context;
  context.dtype = view.compute_dtype();
  const models::UnetConfig& config = model.network->config();
  const float timesteps[] = {900.0F, 30.0F};
  return model.network->forward(view, context, compute::random_tensor({2, config.in_channels, kSide, kSide}, 21), timesteps,
                                compute::random_tensor({2, kTokens, config.context_dim}, 22));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0;
}

double relative_distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return INFINITY;
  double difference = 0, size = 0;
  for (size_t i = 0; i < b.floats().size(); ++i) {
    const double x = static_cast<double>(a.floats()[i]), y = static_cast<double>(b.floats()[i]);
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference / size);
}

size_t largest_module(const residency::ResidentSet& residents) {
  std::map<std::string, size_t> bytes;
  size_t largest = 0;
  for (const auto& entry : residents.account()) largest = std::max(largest, bytes[entry.label] += entry.size_bytes);
  return largest;
}

}  // namespace veneer::testing
