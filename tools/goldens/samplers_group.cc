// Samplers: whole runs on the tiny UNet, with noise of our own generators, compared call by call; and the Brownian tree alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>

#include "golden_set.h"
#include "sample_case.h"
#include "sampling/noise.h"
#include "sampling/sample.h"
#include "sampling/sampler.h"
#include "sampling_params.h"
#include "tiny_unet.h"
#include "veneer/error.h"

namespace veneer::goldens {
namespace {

using sampling::NoiseKind;
using sampling::NoiseSource;

// [count, ...] from tensors of one shape.
Tensor stack(const std::vector<Tensor>& parts) {
  std::vector<int64_t> dims{static_cast<int64_t>(parts.size())};
  for (const int64_t extent : parts.front().shape().dims()) dims.push_back(extent);
  Tensor out = Tensor::empty(Shape(dims), DType::f32);
  for (size_t i = 0; i < parts.size(); ++i) std::ranges::copy(parts[i].floats(), out.mutable_data<float>() + i * parts[i].floats().size());
  return out;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

// Makes noise from the seed, as a run without this tool does, and notes what was asked for and made.
class NotedNoise final : public NoiseSource {
 public:
  explicit NotedNoise(std::unique_ptr<NoiseSource> source) : source_(std::move(source)) {}
  Tensor draw(float sigma, float sigma_next) override {
    asked_.push_back({sigma, sigma_next});
    drawn_.push_back(source_->draw(sigma, sigma_next));
    return drawn_.back();
  }

  // Against params.draw_sigmas and the input noise_draws.
  void check(Case& golden) const {
    constexpr double kSigmaTolerance = 2e-4;  // relative: dpm_adaptive chooses its sigmas by what the network says
    constexpr double kNoiseTolerance = 2e-5;
    if (!golden.params().contains("draw_sigmas")) return;
    const auto wanted = golden.params().at("draw_sigmas").get<std::vector<std::array<float, 2>>>();
    golden.require(wanted.size() == asked_.size(), "draws: " + std::to_string(asked_.size()) + ", expected " + std::to_string(wanted.size()));
    if (wanted.size() != asked_.size() || wanted.empty()) return;
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (size_t end = 0; end < 2; ++end) {
        const double want = wanted[i][end];
        const bool same = std::abs(asked_[i][end] - want) <= kSigmaTolerance * std::max(std::abs(want), 1e-2);
        golden.require(same, "draw " + std::to_string(i) + ": sigma " + std::to_string(asked_[i][end]) + ", expected " + std::to_string(want));
      }
    }
    const Tensor values = golden.input("noise_draws");
    const Tensor ours = stack(drawn_);
    golden.require(values.shape() == ours.shape(), "noise_draws: shape " + ours.shape().to_string());
    if (values.shape() != ours.shape()) return;
    const double difference = largest_difference(values.floats(), ours.floats());
    golden.require(difference <= kNoiseTolerance, "noise_draws: differ by " + std::to_string(difference));
  }

 private:
  std::unique_ptr<NoiseSource> source_;
  std::vector<std::array<float, 2>> asked_;
  std::vector<Tensor> drawn_;
};

std::unique_ptr<NotedNoise> make_noted_noise(const sampling::SampleRequest& request) {
  const Shape shape = request.latent.samples.shape();
  const NoiseKind kind = sampling::find_sampler(request.sampler).noise;
  if (kind == NoiseKind::none) return nullptr;
  if (kind == NoiseKind::generator) return std::make_unique<NotedNoise>(sampling::make_generator_noise(shape, request.seed));
  const std::vector<float> sigmas = sampling::sample_sigmas(request);
  const auto below = [](float a, float b) { return a > 0 && (b <= 0 || a < b); };
  const float smallest = *std::ranges::min_element(sigmas, below);
  return std::make_unique<NotedNoise>(sampling::make_brownian_noise(shape, request.seed, smallest, std::ranges::max(sigmas)));
}

void run_brownian_tree(Case& golden) {
  const auto& params = golden.params();
  const Shape shape(params.at("shape").get<std::vector<int64_t>>());
  const auto source = sampling::make_brownian_noise(shape, params.at("seed").get<uint64_t>(), params.at("sigma_min").get<float>(),
                                                    params.at("sigma_max").get<float>());
  std::vector<Tensor> draws;
  for (const auto& pair : params.at("pairs")) draws.push_back(source->draw(pair.at(0).get<float>(), pair.at(1).get<float>()));
  golden.check("draws", stack(draws));
}

sampling::Conditioning prompt(const Tensor& context) {
  sampling::ConditioningEntry entry;
  entry.context = context;
  return {entry};
}

void run_sampler_case(Case& golden, const sampling::Network& network) {
  const auto& params = golden.params();
  const auto model_sampling = model_sampling_of(params.value("model_sampling", "eps"), params);
  sampling::SampleRequest request{.model_sampling = model_sampling, .network = network};
  read_sample_params(golden, request);
  request.positive = prompt(golden.input("positive"));
  request.negative = prompt(golden.input("negative"));
  check_sigmas(golden, request);
  const auto noise = make_noted_noise(request);
  request.step_noise = noise.get();
  std::vector<Tensor> step_x;
  std::vector<Tensor> step_denoised;
  request.callback = [&](int, int, const Tensor& x, const Tensor& denoised) {
    step_x.push_back(x.clone());
    step_denoised.push_back(denoised.clone());
  };
  const Tensor latent = sampling::sample(request);

  // Where the reference's own result has no value to compare, the run itself is the test.
  if (!golden.expect().value("runnable", true) || !golden.expect().value("finite", true)) {
    for (const std::string& role : golden.output_roles()) golden.mark_checked(role);
    return;
  }
  golden.check("latent_out", latent);
  if (golden.has_output("step_x")) golden.check("step_x", stack(step_x));
  if (golden.has_output("step_denoised")) golden.check("step_denoised", stack(step_denoised));
  if (golden.expect().contains("callbacks")) {
    golden.require(step_x.size() == golden.expect().at("callbacks").get<size_t>(), "callbacks: " + std::to_string(step_x.size()));
  }
  if (noise) noise->check(golden);
}

}  // namespace

Runner make_samplers_runner(const Group& group) {
  const sampling::Network network = make_tiny_unet(group);
  return [network](Case& golden) {
    if (golden.has_output("draws")) return run_brownian_tree(golden);
    run_sampler_case(golden, network);
  };
}

}  // namespace veneer::goldens
