// How much memory the machine has.
#pragma once

#include <cstddef>

namespace veneer {

// Bytes of memory that this process may hope for: the machine's, or what its control group allows if that is less. Never 0.
size_t physical_memory_bytes();

}  // namespace veneer
