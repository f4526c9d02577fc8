// veneer-bench: first what the machine can do, then whole networks as fractions of it, then the ops with Google Benchmark's own options
// (--benchmark_filter=REGEX, ...). --machine_only and --networks_only stop before the single ops; --variants_only [LATENT]
// leaves out the networks; --files_only [FOLDER] measures files alone, in FOLDER or the current one.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "base/parallel.h"
#include "bench/file_figures.h"
#include "bench/machine_rates.h"
#include "bench/unet_evaluation.h"
#include "bench/variant_figures.h"
#include "compute/cpu.h"

namespace {

struct Rates {
  double f32 = 0, bf16 = 0;  // of a large matmul, GFLOP/s; 0 where the CPU cannot
  double copy = 0;           // GB/s
};

Rates print_machine() {
  using veneer::DType;
  Rates rates;
  std::printf("threads %d, kernels %s\n", veneer::num_threads(), std::string(veneer::compute::kernel_isa()).c_str());
  rates.copy = veneer::bench::copy_bandwidth();
  std::printf("first touch of fresh memory, 1 GiB   %6.1f GB/s\n", veneer::bench::first_touch_rate());
  std::printf("copy, 256 MiB in huge pages       %8.1f GB/s\n", rates.copy);
  rates.f32 = veneer::bench::matmul_rate(DType::f32);
  std::printf("matmul 4096^3 f32                 %8.1f GFLOP/s\n", rates.f32);
  std::printf("convolution 3x3 320@64 f32        %8.1f GFLOP/s\n", veneer::bench::convolution_rate(DType::f32));
  if (!veneer::compute::bf16_supported()) return rates;
  rates.bf16 = veneer::bench::matmul_rate(DType::bf16);
  std::printf("matmul 4096^3 bf16                %8.1f GFLOP/s\n", rates.bf16);
  std::printf("convolution 3x3 320@64 bf16       %8.1f GFLOP/s\n", veneer::bench::convolution_rate(DType::bf16));
  return rates;
}

// SD 1.5's UNet, one evaluation of batch 2 (a guided step of one picture), against the matmul rate of the same run.
void print_unet(veneer::DType dtype, double matmul_rate, int64_t latent) {
  const veneer::bench::UnetFigures figures = veneer::bench::measure_unet(dtype, 2, latent, 3);
  const double rate = figures.gflop / figures.seconds;
  const auto pixels = static_cast<long long>(latent) * 8;
  std::printf(
      "UNet %lldx%lld %-4s  %6.2f s, %5.0f GFLOP, %7.1f GFLOP/s, %.2f of the matmul rate; first call %.1f s, weights %.2f GB, activations %.2f GB\n",
      pixels, pixels, std::string(veneer::to_string(dtype)).c_str(), figures.seconds, figures.gflop, rate, rate / matmul_rate, figures.first_seconds,
      figures.packed_bytes / 1e9, figures.peak_activation_bytes / 1e9);
  std::fflush(stdout);
}

void print_networks(const Rates& rates) {
  for (const int64_t latent : {64, 32}) {
    print_unet(veneer::DType::f32, rates.f32, latent);
    if (rates.bf16 > 0) print_unet(veneer::DType::bf16, rates.bf16, latent);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool files_only = argc > 1 && std::strcmp(argv[1], "--files_only") == 0;
    if (files_only) {
      veneer::bench::print_file_figures(argc > 2 ? argv[2] : ".");
      return 0;
    }
    const Rates rates = print_machine();
    if (argc > 1 && std::strcmp(argv[1], "--machine_only") == 0) return 0;
    const bool variants_only = argc > 1 && std::strcmp(argv[1], "--variants_only") == 0;
    if (!variants_only) print_networks(rates);
    if (argc > 1 && std::strcmp(argv[1], "--networks_only") == 0) return 0;
    veneer::bench::print_variant_figures(veneer::DType::f32, rates.copy, variants_only && argc > 2 ? std::atoi(argv[2]) : 64);
    if (variants_only) return 0;
    veneer::bench::print_file_figures(".");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "veneer-bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
