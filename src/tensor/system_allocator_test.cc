#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/tensor.h"
#include "veneer/error.h"

namespace veneer {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Sanitizers watch the borders of malloc's blocks alone, so there the arena is off.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kArena = false;
#else
constexpr bool kArena = true;
#endif

TEST(SystemAllocator, GivesALargeBlockAgainThatCameBack) {
  if (!kArena) GTEST_SKIP() << "no arena under sanitizers";
  release_idle_memory();
  const std::byte* before = nullptr;
  {
    const auto block = system_allocator().allocate(3 * kHugePage);
    before = block.get();
  }
  EXPECT_EQ(system_allocator().allocate(3 * kHugePage).get(), before);
}

TEST(SystemAllocator, CutsBlocksFromALongerOneThatCameBackAndJoinsThemAgain) {
  if (!kArena) GTEST_SKIP() << "no arena under sanitizers";
  release_idle_memory();
  const std::byte* whole = nullptr;
  {
    const auto block = system_allocator().allocate(12 * kHugePage);
    whole = block.get();
  }
  {
    const auto a = system_allocator().allocate(4 * kHugePage), b = system_allocator().allocate(8 * kHugePage);
    EXPECT_EQ(a.get(), whole);
    EXPECT_EQ(b.get(), whole + 4 * kHugePage);
  }
  EXPECT_EQ(system_allocator().allocate(12 * kHugePage).get(), whole);
}

TEST(SystemAllocator, BlocksInUseNeverOverlap) {
  std::vector<std::shared_ptr<std::byte>> blocks;
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 1; i <= 8; ++i) {
      blocks.push_back(system_allocator().allocate(i * kHugePage));
      std::fill_n(blocks.back().get(), i * kHugePage, static_cast<std::byte>(blocks.size()));
    }
    for (size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(*blocks[i], static_cast<std::byte>(i + 1));
    for (size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i].get()[kHugePage - 1], static_cast<std::byte>(i + 1));
    blocks.erase(blocks.begin() + 3, blocks.end());
  }
}

TEST(SystemAllocator, RefusesMoreThanTheMachineHas) {
  try {
    (void)system_allocator().allocate(SIZE_MAX / 2);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_memory);
  }
}

}  // namespace
}  // namespace veneer
