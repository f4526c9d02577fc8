#include "bench/network_figures.h"

#include <cstdio>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "bench/evaluation.h"
#include "compute/cpu.h"
#include "models/unet/text_cache.h"
#include "models/vae/tiled.h"

namespace veneer::bench {
namespace {

constexpr int64_t kTextTokens = 77;
constexpr double kGiga = 1e-9;

Tensor pattern(const Shape& shape, float size = 1.0F, float centre = 0.0F) {
  Tensor out = Tensor::empty(shape, DType::f32);
  uint32_t state = 1;
  for (float& value : out.mutable_floats()) {
    state = state * 1664525U + 1013904223U;
    value = centre + size * (static_cast<float>(state >> 8U) / 8388608.0F - 1.0F);
  }
  return out;
}

std::string name_of(DType dtype) { return std::string(to_string(dtype)); }

std::vector<DType> dtypes() {
  if (compute::bf16_supported()) return {DType::f32, DType::bf16};
  return {DType::f32};
}

std::map<std::string, double> details(const Evaluation& at) {
  return {{"gflop", kGiga * at.flops},
          {"gflop_per_second", kGiga * at.flops / at.seconds},
          {"first_seconds", at.first_seconds},
          {"matrix_share", at.matrix_share},
          {"other_share", at.other_share},
          {"packed_bytes", at.packed_bytes},
          {"peak_activation_bytes", at.peak_activation_bytes}};
}

// One evaluation against a rate that is measured right before each round.
Figure figure_of(const char* group, std::string name, const Evaluation& at, double rate, std::string of) {
  Figure figure{.group = group, .name = std::move(name), .value = at.seconds, .unit = "s", .ratio = kGiga * at.flops / at.seconds / rate};
  figure.ratio_of = std::move(of);
  figure.more = details(at);
  return figure;
}

Evaluation evaluate(BenchSetup& setup, Stage<models::Unet>& stage, DType dtype, int64_t batch, int64_t latent) {
  const Tensor x = pattern({batch, 4, latent, latent}), text = pattern({batch, kTextTokens, 768});
  const std::vector<float> timesteps(static_cast<size_t>(batch), 500.0F);
  // As a run of a sampler has it: the second evaluation finds what the first one made of the text.
  models::TextCache texts;
  models::UnetCallExtras extras;
  extras.text_cache = &texts;
  const auto run = [&](const models::Unet& unet, variant::ModelView& view, compute::Context& context) {
    unet.forward(view, context, x, timesteps, text, extras);
  };
  return stage.measure(
      setup.rounds, [&] { setup.machine.matmul(dtype); }, run);
}

std::string size_name(int64_t latent, int64_t batch, DType dtype) {
  return "UNet " + std::to_string(8 * latent) + "x" + std::to_string(8 * latent) + ", batch " + std::to_string(batch) + ", " + name_of(dtype);
}

// The share of a UNet evaluation that ops other than convolution, matmul and attention take.
void add_share(BenchSetup& setup, const std::string& name, const Evaluation& at) {
  Figure figure{.group = "unet", .name = "ops without matrix work, " + name, .value = 100 * at.other_share, .unit = "%", .ratio = at.other_share};
  figure.ratio_of = "the evaluation";
  figure.target = Target{compute::amx_native() ? 0.25 : 0.15, true};
  setup.report.add(std::move(figure));
}

// f32 with weights kept in 16 bits, against f32 weights: what the smaller memory costs.
void measure_compact(BenchSetup& setup, const models::Loaded<models::Unet>& unet) {
  for (const int64_t latent : {64, 32}) {
    Stage<models::Unet> computed(unet, DType::f32), compact(unet, DType::f32, compute::WeightStorage::compact);
    const Evaluation plain = evaluate(setup, computed, DType::f32, 2, latent), at = evaluate(setup, compact, DType::f32, 2, latent);
    Figure figure{.group = "unet", .name = size_name(latent, 2, DType::f32) + ", weights in 16 bits", .value = at.seconds, .unit = "s"};
    figure.ratio = at.seconds / plain.seconds;
    figure.ratio_of = "the time with f32 weights";
    figure.more = details(at);
    setup.report.add(std::move(figure));
  }
}

}  // namespace

void measure_machine(BenchSetup& setup) {
  const auto add = [&](const std::string& name, double value, const char* unit) {
    setup.report.add({.group = "machine", .name = name, .value = value, .unit = unit});
  };
  for (int round = 0; round < 2; ++round) {
    setup.machine.copy();
    for (const DType dtype : dtypes()) {
      setup.machine.matmul(dtype);
      setup.machine.convolution(dtype);
    }
  }
  add("first touch of fresh memory, 1 GiB", first_touch_rate(), "GB/s");
  add("copy, 256 MiB in huge pages", setup.machine.copy(), "GB/s");
  for (const DType dtype : dtypes()) {
    add("matmul 4096^3 " + name_of(dtype), setup.machine.matmul(dtype), "GFLOP/s");
    add("convolution 3x3 320@64 " + name_of(dtype), setup.machine.convolution(dtype), "GFLOP/s");
  }
}

void measure_unet(BenchSetup& setup, const models::Loaded<models::Unet>& unet) {
  for (const DType dtype : dtypes()) {
    Stage<models::Unet> stage(unet, dtype);
    double large = 0;
    for (const int64_t latent : {64, 32}) {
      for (const int64_t batch : {2, 1, 4}) {
        if (setup.quick && batch != 2) continue;
        const Evaluation at = evaluate(setup, stage, dtype, batch, latent);
        Figure figure = figure_of("unet", size_name(latent, batch, dtype), at, setup.machine.matmul(dtype), "matmul " + name_of(dtype));
        const double ratio = *figure.ratio;
        if (batch == 2 && latent == 64) {
          large = ratio;
          figure.target = Target{dtype == DType::f32 ? 0.9 : 0.75};
        }
        setup.report.add(std::move(figure));
        if (batch != 2) continue;
        add_share(setup, size_name(latent, batch, dtype), at);
        if (latent != 32) continue;
        Figure against{.group = "unet", .name = "256x256 against 512x512, " + name_of(dtype), .value = ratio, .unit = "", .ratio = ratio / large};
        against.ratio_of = "the rate at 512x512";
        against.target = Target{0.8};
        setup.report.add(std::move(against));
      }
    }
  }
  measure_compact(setup, unet);
}

void measure_text(BenchSetup& setup, const models::LoadedClip& clip) {
  Stage<models::ClipTextModel> stage(clip, DType::f32);
  models::TokenizedPrompt prompt;
  prompt.chunks.emplace_back(kTextTokens);
  // Start, 40 words, and ends up to the last place.
  constexpr int32_t kStart = 49406, kEnd = 49407;
  for (size_t i = 0; i < prompt.chunks[0].size(); ++i) prompt.chunks[0][i].id = i > 40 ? kEnd : static_cast<int32_t>(320 + 7 * i);
  prompt.chunks[0][0].id = kStart;
  const auto run = [&](const models::ClipTextModel& model, variant::ModelView& view, compute::Context& context) {
    model.encode(view, context, prompt, models::EncodeOptions::of(model.config().kind));
  };
  const Evaluation at = stage.measure(
      setup.rounds, [&] { setup.machine.matmul(DType::f32); }, run);
  setup.report.add(figure_of("text", "one prompt, 77 tokens, f32", at, setup.machine.matmul(DType::f32), "matmul f32"));
}

void measure_vae(BenchSetup& setup, const models::LoadedVae& vae) {
  const Tensor latent = pattern({1, 4, 64, 64}), image = pattern({1, 512, 512, 3}, 0.5F, 0.5F);
  const models::TileSize tile{.x = 32, .y = 32, .overlap = 8}, image_tile{.x = 256, .y = 256, .overlap = 64};
  for (const DType dtype : dtypes()) {
    Stage<models::Vae> stage(vae, dtype);
    const auto measure = [&](const char* what, bool with_target, const auto& run) {
      const Evaluation at = stage.measure(
          setup.rounds, [&] { setup.machine.convolution(dtype); },
          [&](const models::Vae& model, variant::ModelView& view, compute::Context& context) { run(model, view, context); });
      Figure figure =
          figure_of("vae", std::string(what) + ", " + name_of(dtype), at, setup.machine.convolution(dtype), "convolution " + name_of(dtype));
      if (with_target && dtype == DType::bf16) figure.target = Target{compute::amx_native() ? 0.40 : 0.55};
      setup.report.add(std::move(figure));
    };
    using models::Vae;
    measure("decode 512x512", true, [&](const Vae& m, variant::ModelView& v, compute::Context& c) { m.decode(v, c, latent); });
    measure("encode 512x512", false, [&](const Vae& m, variant::ModelView& v, compute::Context& c) { m.encode(v, c, image); });
    if (setup.quick) continue;
    measure("decode 512x512 in tiles of 256", false,
            [&](const Vae& m, variant::ModelView& v, compute::Context& c) { models::decode_tiled(m, v, c, latent, tile); });
    measure("encode 512x512 in tiles of 256", false,
            [&](const Vae& m, variant::ModelView& v, compute::Context& c) { models::encode_tiled(m, v, c, image, image_tile); });
  }
}

void measure_threads(BenchSetup& setup, const models::Loaded<models::Unet>& unet) {
  const int all = num_threads();
  for (const DType dtype : dtypes()) {
    double one = 0;
    for (const int threads : {1, all}) {
      if (threads == 1 && all == 1) continue;
      set_num_threads(threads);
      Machine machine;
      BenchSetup with{machine, setup.report, setup.rounds, setup.quick};
      Stage<models::Unet> stage(unet, dtype);
      const Evaluation at = evaluate(with, stage, dtype, 2, 32);
      std::string name = size_name(32, 2, dtype) + (threads == 1 ? ", 1 thread" : ", " + std::to_string(threads) + " threads");
      setup.report.add(figure_of("threads", std::move(name), at, machine.matmul(dtype), "matmul on as many"));
      if (threads == 1) {
        one = at.seconds;
      } else if (one > 0) {
        Figure faster{
            .group = "threads", .name = std::to_string(threads) + " threads against 1, " + name_of(dtype), .value = one / at.seconds, .unit = "x"};
        faster.ratio = one / at.seconds / threads;
        faster.ratio_of = "the number of threads";
        setup.report.add(std::move(faster));
      }
    }
    set_num_threads(all);
  }
}

void measure_scaling(BenchSetup& setup, const models::Loaded<models::Unet>& unet) {
  const int all = num_threads();
  // In the dtype that is faster here.
  const bool bf16 = compute::bf16_supported() && setup.machine.matmul(DType::bf16) > setup.machine.matmul(DType::f32);
  const DType dtype = bf16 ? DType::bf16 : DType::f32;
  for (const int threads : {1, all}) {
    set_num_threads(threads);
    Machine machine;
    BenchSetup with{machine, setup.report, {.least = 1, .most = 3, .seconds = 3}, setup.quick};
    Stage<models::Unet> stage(unet, dtype);
    const auto point = [&](int64_t latent, int64_t batch) {
      const Evaluation at = evaluate(with, stage, dtype, batch, latent);
      Figure figure = figure_of("scaling", size_name(latent, batch, dtype) + ", threads " + std::to_string(threads), at, machine.matmul(dtype),
                                "matmul on as many");
      figure.more["width"] = 8.0 * static_cast<double>(latent);
      figure.more["batch"] = static_cast<double>(batch);
      figure.more["threads"] = threads;
      setup.report.add(std::move(figure));
    };
    for (const int64_t latent : {16, 24, 32, 48, 64}) {
      if (!setup.quick || latent <= 48) point(latent, 2);
    }
    for (const int64_t batch : {1, 4, 8}) {
      if (!setup.quick || batch <= 4) point(32, batch);
    }
    if (all == 1) break;
  }
  set_num_threads(all);
}

}  // namespace veneer::bench
