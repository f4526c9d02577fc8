// The ops at the shapes of SD 1.5's UNet at 512x512, batch 2. Counters: GFLOP/s of matrix work, GB/s of activations read and written.
#include <benchmark/benchmark.h>

#include "compute/block_cache.h"
#include "compute/cpu.h"
#include "compute/ops.h"
#include "compute/weights.h"
#include "tensor/convert.h"

namespace veneer::bench {
namespace {

using benchmark::Counter;

Tensor ramp(const Shape& shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.mutable_data<float>()[i] = static_cast<float>(i * 7 % 61 - 30) / 64.0F;
  return to_dtype(tensor, dtype);
}

// Every benchmark's last argument: 0 for f32, 1 for bf16.
DType dtype_of(int64_t argument) { return argument == 0 ? DType::f32 : DType::bf16; }

bool skip(benchmark::State& state, DType dtype) {
  if (dtype == DType::f32 || compute::bf16_supported()) return false;
  state.SkipWithError("no bf16 on this machine");
  return true;
}

void count_flops(benchmark::State& state, double flops) { state.counters["GFLOP/s"] = Counter(1e-9 * flops, Counter::kIsIterationInvariantRate); }
void count_bytes(benchmark::State& state, double bytes) { state.counters["GB/s"] = Counter(1e-9 * bytes, Counter::kIsIterationInvariantRate); }

void group_norm_silu(benchmark::State& state) {
  const DType dtype = dtype_of(state.range(2));
  if (skip(state, dtype)) return;
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const int64_t side = state.range(0), channels = state.range(1);
  const Tensor x = ramp({2, side, side, channels}, dtype), parameter = ramp({channels}, DType::f32);
  for (auto _ : state) (void)compute::group_norm(context, x, parameter, parameter, 32, 1e-5F, true);
  count_bytes(state, 2.0 * static_cast<double>(x.size_bytes()));
}
BENCHMARK(group_norm_silu)->UseRealTime()->ArgsProduct({{64}, {320}, {0, 1}})->ArgsProduct({{16}, {1280}, {0, 1}});

void layer_norm(benchmark::State& state) {
  const DType dtype = dtype_of(state.range(0));
  if (skip(state, dtype)) return;
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const Tensor x = ramp({2, 4096, 320}, dtype), parameter = ramp({320}, DType::f32);
  for (auto _ : state) (void)compute::layer_norm(context, x, parameter, parameter, 1e-5F);
  count_bytes(state, 2.0 * static_cast<double>(x.size_bytes()));
}
BENCHMARK(layer_norm)->UseRealTime()->Arg(0)->Arg(1);

void geglu(benchmark::State& state) {
  const DType dtype = dtype_of(state.range(0));
  if (skip(state, dtype)) return;
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const Tensor x = ramp({2, 4096, 2560}, dtype);
  for (auto _ : state) (void)compute::geglu(context, x);
  count_bytes(state, 1.5 * static_cast<double>(x.size_bytes()));
}
BENCHMARK(geglu)->UseRealTime()->Arg(0)->Arg(1);

// Self-attention (keys = queries) and cross-attention (77 keys).
void attention(benchmark::State& state) {
  const int64_t queries = state.range(0), keys = state.range(1), head_dim = state.range(2), heads = 8;
  const DType dtype = dtype_of(state.range(3));
  if (skip(state, dtype)) return;
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const Tensor q = ramp({2, queries, heads * head_dim}, dtype), k = ramp({2, keys, heads * head_dim}, dtype);
  for (auto _ : state) (void)compute::attention(context, {q}, {k}, {k}, {static_cast<int>(heads), static_cast<int>(head_dim)});
  count_flops(state, 4.0 * 2.0 * static_cast<double>(queries * keys * heads * head_dim));
}
BENCHMARK(attention)
    ->UseRealTime()
    ->ArgsProduct({{4096}, {4096, 77}, {40}, {0, 1}})
    ->ArgsProduct({{1024}, {1024, 77}, {80}, {0, 1}})
    ->ArgsProduct({{256}, {256, 77}, {160}, {0, 1}})
    ->ArgsProduct({{64}, {64, 77}, {160}, {0, 1}});

// The text encoder's: 77 tokens that see the ones before.
void attention_text(benchmark::State& state) {
  const DType dtype = dtype_of(state.range(0));
  if (skip(state, dtype)) return;
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const Tensor x = ramp({2, 77, 768}, dtype);
  for (auto _ : state) (void)compute::attention(context, {x}, {x}, {x}, {12, 64, true});
  count_flops(state, 4.0 * 2 * 77 * 39 * 768);
}
BENCHMARK(attention_text)->UseRealTime()->Arg(0)->Arg(1);

// One head of 512 channels, as in the VAE.
void attention_vae(benchmark::State& state) {
  const DType dtype = dtype_of(state.range(0));
  if (skip(state, dtype)) return;
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const Tensor x = ramp({1, 4096, 512}, dtype);
  for (auto _ : state) (void)compute::attention(context, {x}, {x}, {x}, {1, 512});
  count_flops(state, 4.0 * 4096 * 4096 * 512);
}
BENCHMARK(attention_vae)->UseRealTime()->Arg(0)->Arg(1);

void linear(benchmark::State& state) {
  const int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  const DType dtype = dtype_of(state.range(3));
  if (skip(state, dtype)) return;
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const auto layer = compute::Linear::create(ramp({out, in}, dtype), ramp({out}, DType::f32), dtype);
  const Tensor x = ramp({rows, in}, dtype), residual = ramp({rows, out}, dtype);
  (void)layer->forward(context, x, {compute::Activation::none, &residual});  // packs the weights
  for (auto _ : state) (void)layer->forward(context, x, {compute::Activation::none, &residual});
  count_flops(state, 2.0 * static_cast<double>(rows * in * out));
}
BENCHMARK(linear)
    ->UseRealTime()
    ->ArgsProduct({{8192}, {320}, {320, 2560}, {0, 1}})
    ->ArgsProduct({{512}, {1280}, {1280, 10240}, {0, 1}})
    ->ArgsProduct({{2}, {1280}, {320}, {0, 1}});

// GFLOP/s are those of the sum over taps, also where fewer products are computed.
void run_convolution(benchmark::State& state, int64_t batch, int64_t taps, const compute::ConvGeometry& geometry) {
  const int64_t side = state.range(0), in = state.range(1), out = state.range(2);
  const DType dtype = dtype_of(state.range(3));
  if (skip(state, dtype)) return;
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const auto layer = compute::Conv2d::create(ramp({out, in, taps, taps}, dtype), ramp({out}, DType::f32), geometry, dtype);
  const Tensor x = ramp({batch, side, side, in}, dtype), residual = ramp({batch, side, side, out}, dtype);
  (void)layer->forward(context, x, {compute::Activation::none, &residual});  // packs the weights
  for (auto _ : state) (void)layer->forward(context, x, {compute::Activation::none, &residual});
  count_flops(state, 2.0 * static_cast<double>(taps * taps * batch * side * side * in * out));
}

void convolution(benchmark::State& state) { run_convolution(state, 2, 3, compute::ConvGeometry::same3x3()); }
BENCHMARK(convolution)
    ->UseRealTime()
    ->ArgsProduct({{64}, {4, 320, 640, 960}, {320}, {0, 1}})
    ->ArgsProduct({{64}, {320}, {4}, {0, 1}})
    ->ArgsProduct({{32}, {640, 1280}, {640}, {0, 1}})
    ->ArgsProduct({{16}, {1280, 2560}, {1280}, {0, 1}})
    ->ArgsProduct({{8}, {1280, 2560}, {1280}, {0, 1}});

// The VAE's, on one picture of 512x512.
void convolution_vae(benchmark::State& state) { run_convolution(state, 1, 3, compute::ConvGeometry::same3x3()); }
BENCHMARK(convolution_vae)
    ->UseRealTime()
    ->ArgsProduct({{64, 128}, {512}, {512}, {0, 1}})
    ->ArgsProduct({{256}, {256}, {256}, {0, 1}})
    ->ArgsProduct({{512}, {128}, {128}, {0, 1}});

// One of the four that make a doubled picture.
void convolution_enlarging(benchmark::State& state) { run_convolution(state, 1, 2, compute::ConvGeometry{1, 1, 1, 0, 0}); }
BENCHMARK(convolution_enlarging)->UseRealTime()->ArgsProduct({{128}, {512}, {512}, {0, 1}})->ArgsProduct({{256}, {256}, {256}, {0, 1}});

}  // namespace
}  // namespace veneer::bench
