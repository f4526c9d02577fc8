#include "tensor/huge_arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace veneer {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(HugeArena, CutsWarmRangesFirstAndTheShortestThatFits) {
  HugeArena arena(64 * kMiB);
  std::byte* const a = arena.take(8 * kMiB);
  std::byte* const wall = arena.take(kMiB);
  std::byte* const b = arena.take(4 * kMiB);
  std::byte* const end = arena.take(kMiB);
  ASSERT_NE(end, nullptr);
  arena.give_back(a, 8 * kMiB);
  arena.give_back(b, 4 * kMiB);
  EXPECT_EQ(arena.warm_bytes(), 12 * kMiB);
  EXPECT_EQ(arena.take(3 * kMiB), b);
  EXPECT_EQ(arena.take(8 * kMiB), a);
  EXPECT_EQ(arena.warm_bytes(), kMiB);
  EXPECT_TRUE(arena.owns(wall));
}

TEST(HugeArena, NeighboursThatComeBackInAnyOrderAreOneRange) {
  HugeArena arena(8 * kMiB);
  std::byte* const a = arena.take(2 * kMiB);
  std::byte* const b = arena.take(2 * kMiB);
  std::byte* const c = arena.take(2 * kMiB);
  arena.give_back(a, 2 * kMiB);
  arena.give_back(c, 2 * kMiB);
  EXPECT_EQ(arena.take(6 * kMiB), nullptr);
  arena.give_back(b, 2 * kMiB);
  EXPECT_EQ(arena.take(6 * kMiB), a);
}

TEST(HugeArena, CoolRangesServeAgainAndReadAsZero) {
  HugeArena arena(4 * kMiB);
  std::byte* const a = arena.take(4 * kMiB);
  ASSERT_NE(a, nullptr);
  std::memset(a, 7, 4 * kMiB);
  EXPECT_EQ(arena.take(HugeArena::kUnit), nullptr);
  arena.give_back(a, 4 * kMiB);
  arena.cool(0);
  EXPECT_EQ(arena.warm_bytes(), 0U);
  EXPECT_EQ(arena.take(4 * kMiB), a);
  EXPECT_EQ(a[0], std::byte{0});
  EXPECT_EQ(a[4 * kMiB - 1], std::byte{0});
}

TEST(HugeArena, WithoutRoomItRefuses) {
  HugeArena none(0);
  EXPECT_EQ(none.take(HugeArena::kUnit), nullptr);
  EXPECT_FALSE(none.owns(nullptr));
  EXPECT_EQ(HugeArena(2 * kMiB).take(2 * kMiB + HugeArena::kUnit), nullptr);
}

TEST(HugeArena, RandomRequestsNeverOverlapAndAllComesBack) {
  constexpr size_t kSize = 32 * kMiB;
  HugeArena arena(kSize);
  struct Block {
    std::byte* begin;
    size_t size;
    std::byte mark;
  };
  std::vector<Block> blocks;
  uint32_t state = 1;
  const auto random = [&] { return (state = state * 1664525U + 1013904223U) >> 8U; };
  for (int round = 0; round < 2000; ++round) {
    if (blocks.size() < 12 && random() % 3 != 0) {
      const size_t size = (1 + random() % 1024) * HugeArena::kUnit;
      if (std::byte* begin = arena.take(size)) {
        const auto mark = static_cast<std::byte>(round);
        begin[0] = begin[size - 1] = mark;
        blocks.push_back({begin, size, mark});
      }
    } else if (!blocks.empty()) {
      const size_t i = random() % blocks.size();
      EXPECT_EQ(blocks[i].begin[0], blocks[i].mark);
      EXPECT_EQ(blocks[i].begin[blocks[i].size - 1], blocks[i].mark);
      arena.give_back(blocks[i].begin, blocks[i].size);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
      if (round % 50 == 0) arena.cool(4 * kMiB);
    }
  }
  for (const Block& block : blocks) arena.give_back(block.begin, block.size);
  arena.cool(0);
  EXPECT_NE(arena.take(kSize), nullptr);
}

}  // namespace
}  // namespace veneer
