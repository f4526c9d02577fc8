// The machine, as far as clients ask about it.
#pragma once

#include <cstdint>

namespace veneer::engine {

struct MachineMemory {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;      // that programs may still take
  uint64_t resident_bytes = 0;  // of this process
};
// Zeros where the system does not tell.
MachineMemory machine_memory();

// Gives memory that was freed back to the system.
void return_freed_memory();

}  // namespace veneer::engine
