// The instruction sets that Highway kernels were compiled for: names, choice and, for tests, a temporary other choice.
#pragma once

#include <string_view>
#include <vector>

namespace veneer::compute {

// Lowest first, those that this machine (under the cap) can run: "baseline", "avx2", "avx512".
std::vector<std::string_view> runnable_kernel_isas();

// Allows kernels up to `isa` (a name of the above). Process-wide.
void cap_kernel_isa(std::string_view isa);

// Runs kernels on exactly `isa` while it lives. For tests: the choice is process-wide, and other threads must not run kernels meanwhile.
class KernelIsaGuard {
 public:
  explicit KernelIsaGuard(std::string_view isa);
  ~KernelIsaGuard();
  KernelIsaGuard(const KernelIsaGuard&) = delete;
  KernelIsaGuard& operator=(const KernelIsaGuard&) = delete;
};

}  // namespace veneer::compute
