#include "wait_policy.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace veneer::cli {

void shorten_waits(char** argv) {
  // Some 50 microseconds: longer than from one operation of a network to the next, shorter than waking a thread costs many times over.
  constexpr const char* kSpins = "2000";
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::error_code fault;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (fault || ::setenv("GOMP_SPINCOUNT", kSpins, 0) != 0) return;
  ::execv(program.c_str(), argv);
}

}  // namespace veneer::cli
