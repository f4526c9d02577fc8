#include "base/physical_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace veneer {
namespace {

TEST(PhysicalMemory, IsSomethingAndNoMoreThanTheMachineHas) {
  const auto machine = static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGE_SIZE));
  EXPECT_GT(physical_memory_bytes(), size_t{1} << 20);
  EXPECT_LE(physical_memory_bytes(), machine);
}

}  // namespace
}  // namespace veneer
