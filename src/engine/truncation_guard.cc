#include "engine/truncation_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

namespace veneer::engine {
namespace {

// Everything called here is a plain system call.
void map_zeros(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(info->si_addr) / page * page;
  const bool behind_the_end = info->si_code == BUS_ADRERR;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is one that the program used
  void* where = reinterpret_cast<void*>(begin);
  if (behind_the_end && ::mmap(where, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) return;
  std::signal(SIGBUS, SIG_DFL);  // the access is tried again, and ends the process
}

}  // namespace

void guard_against_truncated_files() {
  struct sigaction action = {};
  action.sa_sigaction = map_zeros;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace veneer::engine
