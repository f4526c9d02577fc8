#include "compute/kernel_isa.h"

#include <array>
#include <string>

// Before Highway, as simd_targets.h asks.
#include "compute/simd_targets.h"

#include <hwy/highway.h>

#include "veneer/error.h"

namespace veneer::compute {
namespace {

struct Isa {
  std::string_view name;
  int64_t target;
};

// Lowest first. Highway's bit order is the other way round: a better target has a lower bit.
constexpr std::array<Isa, 3> kIsas = {Isa{"baseline", HWY_STATIC_TARGET}, Isa{"avx2", HWY_AVX2}, Isa{"avx512", HWY_AVX3}};

int64_t target_of(std::string_view name) {
  for (const Isa& isa : kIsas) {
    if (isa.name == name) return isa.target;
  }
  throw Error(ErrorCode::internal, "no such kernel instruction set", {{"name", std::string(name)}});
}

}  // namespace

std::vector<std::string_view> runnable_kernel_isas() {
  std::vector<std::string_view> names = {kIsas[0].name};
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  for (size_t i = 1; i < kIsas.size(); ++i) {
    if ((supported & kIsas[i].target) != 0) names.push_back(kIsas[i].name);
  }
  return names;
}

void cap_kernel_isa(std::string_view isa) {
  hwy::DisableTargets(target_of(isa) - 1);
  hwy::GetChosenTarget().DeInit();
}

KernelIsaGuard::KernelIsaGuard(std::string_view isa) { hwy::SetSupportedTargetsForTest(target_of(isa)); }

KernelIsaGuard::~KernelIsaGuard() { hwy::SetSupportedTargetsForTest(0); }

}  // namespace veneer::compute
