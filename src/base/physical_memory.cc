#include "base/physical_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace veneer {
namespace {

// The limit of the control group, by the files of version 2 and 1; SIZE_MAX when there is none.
size_t group_limit() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    size_t bytes = 0;
    if (file >> bytes && bytes > 0) return bytes;  // "max" is no number
  }
  return SIZE_MAX;
}

}  // namespace

size_t physical_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGE_SIZE);
  const size_t machine = pages <= 0 || page_bytes <= 0 ? SIZE_MAX : static_cast<size_t>(pages) * static_cast<size_t>(page_bytes);
  return std::min(machine, group_limit());
}

}  // namespace veneer
