// veneer-bench: first what the machine can do, then Google Benchmark's own options (--benchmark_filter=REGEX, ...). --machine_only stops between.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "base/parallel.h"
#include "bench/machine_rates.h"
#include "compute/cpu.h"

namespace {

void print_machine() {
  using veneer::DType;
  std::printf("threads %d, kernels %s\n", veneer::num_threads(), std::string(veneer::compute::kernel_isa()).c_str());
  std::printf("copy, 256 MiB in huge pages       %8.1f GB/s\n", veneer::bench::copy_bandwidth());
  std::printf("matmul 4096^3 f32                 %8.1f GFLOP/s\n", veneer::bench::matmul_rate(DType::f32));
  std::printf("convolution 3x3 320@64 f32        %8.1f GFLOP/s\n", veneer::bench::convolution_rate(DType::f32));
  if (!veneer::compute::bf16_supported()) return;
  std::printf("matmul 4096^3 bf16                %8.1f GFLOP/s\n", veneer::bench::matmul_rate(DType::bf16));
  std::printf("convolution 3x3 320@64 bf16       %8.1f GFLOP/s\n", veneer::bench::convolution_rate(DType::bf16));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    print_machine();
    if (argc > 1 && std::strcmp(argv[1], "--machine_only") == 0) return 0;
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
