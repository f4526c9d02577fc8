#include "compute/block_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "veneer/error.h"

namespace veneer::compute {
namespace {

TEST(BlockCache, AReturnedBlockServesTheNextRequestOfItsSize) {
  BlockCache cache;
  std::byte* first = nullptr;
  {
    const auto block = cache.allocate(1000);
    first = block.get();
  }
  EXPECT_EQ(cache.allocate(1001).get(), first);
  EXPECT_NE(cache.allocate(100000).get(), first);
}

TEST(BlockCache, BlocksInUseAreNotHandedOutTwice) {
  BlockCache cache;
  const auto a = cache.allocate(5000), b = cache.allocate(5000);
  EXPECT_NE(a.get(), b.get());
}

TEST(BlockCache, BlocksAreLargeEnoughAndAligned) {
  BlockCache cache;
  for (const size_t size :
       {size_t{1}, size_t{63}, size_t{257}, size_t{4097}, size_t{1 << 20}, (size_t{2} << 20) - 1, size_t{2} << 20, size_t{5} << 20}) {
    const auto block = cache.allocate(size);
    std::memset(block.get(), 1, size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % (size >= (size_t{2} << 20) ? 4096 : 64), 0U) << size;
    EXPECT_GE(cache.used_bytes(), size);
    EXPECT_LE(cache.used_bytes(), std::max<size_t>(size + size / 4 + (size >= (size_t{1} << 20) ? size_t{2} << 20 : 64), 256)) << size;
  }
}

TEST(BlockCache, CountsUsedHeldAndPeakBytes) {
  BlockCache cache;
  {
    const auto a = cache.allocate(4096), b = cache.allocate(8192);
    EXPECT_EQ(cache.used_bytes(), 4096U + 8192U);
    EXPECT_EQ(cache.held_bytes(), 4096U + 8192U);
  }
  EXPECT_EQ(cache.used_bytes(), 0U);
  EXPECT_EQ(cache.held_bytes(), 4096U + 8192U);
  cache.trim();
  EXPECT_EQ(cache.held_bytes(), 0U);
  EXPECT_EQ(cache.peak_bytes(), 4096U + 8192U);
}

TEST(BlockCache, LargeBlocksServeRequestsOfOtherSizes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under sanitizers every block is one of malloc";
#endif
  constexpr size_t kMiB = size_t{1} << 20;
  BlockCache cache;
  {
    const auto a = cache.allocate(8 * kMiB), b = cache.allocate(8 * kMiB), c = cache.allocate(8 * kMiB);
    EXPECT_EQ(cache.used_bytes(), 24 * kMiB);
  }
  const auto larger = cache.allocate(16 * kMiB), smaller = cache.allocate(5 * kMiB);
  EXPECT_EQ(cache.held_bytes(), 24 * kMiB);
  EXPECT_EQ(cache.peak_bytes(), 24 * kMiB);
  cache.trim();
  EXPECT_EQ(cache.held_bytes(), 21 * kMiB);
}

TEST(BlockCache, BlocksOutliveTheCache) {
  std::shared_ptr<std::byte> block;
  Tensor tensor;
  {
    BlockCache cache;
    block = cache.allocate(100);
    tensor = Tensor::zeros({1000}, DType::f32, cache);
  }
  block.get()[99] = std::byte{1};
  EXPECT_EQ(tensor.data<float>()[999], 0.0F);
}

TEST(BlockCache, AnImpossibleRequestIsAnError) {
  BlockCache cache;
  EXPECT_THROW(cache.allocate(SIZE_MAX), Error);
  EXPECT_THROW(cache.allocate(SIZE_MAX / 8), Error);
  EXPECT_EQ(cache.held_bytes(), 0U);
}

TEST(BlockCache, ThreadsShareIt) {
  BlockCache cache;
  std::vector<std::thread> threads;
  std::vector<int> clashes(4, 0);
  for (size_t t = 0; t < clashes.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const auto block = cache.allocate(256 + 64 * static_cast<size_t>(i % 7));
        std::memset(block.get(), static_cast<int>(t), 256);
        for (size_t k = 0; k < 256; ++k) clashes[t] += block.get()[k] == static_cast<std::byte>(t) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(clashes, testing::Each(0));
  EXPECT_EQ(cache.used_bytes(), 0U);
}

}  // namespace
}  // namespace veneer::compute
