#include "engine/machine.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tensor/tensor.h"

namespace veneer::engine {

MachineMemory machine_memory() {
  MachineMemory memory;
  std::ifstream info("/proc/meminfo");
  std::string name;
  std::string unit;
  uint64_t kib = 0;
  while (info >> name >> kib && std::getline(info, unit)) {
    if (name == "MemTotal:") memory.total_bytes = kib * 1024;
    if (name == "MemAvailable:") memory.free_bytes = kib * 1024;
  }
  std::ifstream self("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  if (self >> size >> resident) memory.resident_bytes = resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return memory;
}

void return_freed_memory() {
  release_idle_memory();
  ::malloc_trim(0);
}

}  // namespace veneer::engine
