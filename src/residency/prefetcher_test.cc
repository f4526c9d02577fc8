#include "residency/prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace veneer::residency {
namespace {

TEST(Prefetcher, DoesWhatItIsAskedFor) {
  std::atomic<int> done = 0;
  Prefetcher prefetcher;
  for (int i = 1; i <= 10; ++i) {
    prefetcher.request([&] { ++done; });
    prefetcher.wait();
    EXPECT_EQ(done.load(), i);
  }
}

TEST(Prefetcher, AFailureIsDroppedAndTheNextRequestRuns) {
  std::atomic<bool> done = false;
  Prefetcher prefetcher;
  prefetcher.request([] { throw std::runtime_error("no"); });
  prefetcher.wait();
  prefetcher.request([&] { done = true; });
  prefetcher.wait();
  EXPECT_TRUE(done.load());
}

TEST(Prefetcher, CanBeDestroyedWithARequestWaiting) {
  std::atomic<int> begun = 0;
  {
    Prefetcher prefetcher;
    for (int i = 0; i < 100; ++i) prefetcher.request([&] { ++begun; });
  }
  EXPECT_LE(begun.load(), 100);
}

}  // namespace
}  // namespace veneer::residency
