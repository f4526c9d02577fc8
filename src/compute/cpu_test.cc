#include "compute/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "compute/kernel_isa.h"
#include "compute/ops.h"
#include "compute/test_data.h"
#include "compute/weights.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

TEST(Cpu, AnUnknownInstructionSetIsRefusedNamingTheAllowedOnes) {
  try {
    set_max_isa("avx9");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_EQ(error.find("got"), "avx9");
    for (const std::string_view name : isa_names()) EXPECT_THAT(std::string(error.find("allowed")), testing::HasSubstr(std::string(name)));
  }
}

TEST(Cpu, TheBestRunnableKernelsAreChosen) {
  EXPECT_EQ(kernel_isa(), runnable_kernel_isas().back());
  EXPECT_EQ(runnable_kernel_isas().front(), "baseline");
}

TEST(Cpu, AGuardRunsOtherKernelsAndComesBack) {
  const std::string before(kernel_isa());
  {
    const KernelIsaGuard guard("baseline");
    EXPECT_EQ(kernel_isa(), "baseline");
  }
  EXPECT_EQ(kernel_isa(), before);
}

TEST(Cpu, NativeBf16IsSupportedBf16) { EXPECT_TRUE(bf16_supported() || !bf16_native()); }

// In a process of its own each, since a cap holds for the process.
void run_capped(std::string_view name) {
  set_max_isa(name);
  Context context;
  const Tensor weight = random_tensor({48, 48}, 1), x = random_tensor({3, 48}, 2);
  const Tensor y = Linear::create(weight, {}, DType::f32)->forward(context, silu(context, x));
  bool refused = name == "native";
  try {
    if (!refused) set_max_isa("avx2");
  } catch (const Error& error) {
    refused = error.code() == ErrorCode::unsupported;
  }
  const bool capped = name == "native" || kernel_isa() == (name == "avx512_bf16" ? "avx512" : name) || runnable_kernel_isas().size() < 3;
  const bool sane = std::isfinite(y.data<float>()[0]);
  std::_Exit(refused && capped && sane ? 0 : 1);
}

TEST(CpuDeathTest, ACapHoldsForKernelsAndMatmulsAndCannotBeChangedLater) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const std::string_view name : isa_names()) EXPECT_EXIT(run_capped(name), testing::ExitedWithCode(0), "") << name;
}

}  // namespace
}  // namespace veneer::compute
