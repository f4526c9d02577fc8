#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace veneer {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (const size_t count : {0U, 1U, 2U, 3U, 17U, 1000U}) {
    std::vector<std::atomic<int>> visits(count);
    parallel_for(count, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ++visits[i];
    });
    for (const auto& v : visits) EXPECT_EQ(v.load(), 1);
  }
}

TEST(ParallelFor, KeepsRangesAtLeastAsLargeAsTheGrain) {
  std::atomic<int> calls = 0;
  parallel_for(10, 10, [&](size_t begin, size_t end) {
    EXPECT_EQ(begin, 0U);
    EXPECT_EQ(end, 10U);
    ++calls;
  });
  EXPECT_EQ(calls.load(), 1);
}

TEST(ParallelFor, RethrowsAnExceptionOfABody) {
  EXPECT_THROW(parallel_for(100, 1, [](size_t, size_t) { throw std::runtime_error("x"); }), std::runtime_error);
}

TEST(ParallelFor, NestedCallsRunInPlace) {
  std::atomic<int> total = 0;
  parallel_for(4, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) parallel_for(5, 1, [&](size_t b, size_t e) { total += static_cast<int>(e - b); });
  });
  EXPECT_EQ(total.load(), 20);
}

}  // namespace
}  // namespace veneer
