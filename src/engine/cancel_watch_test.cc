#include "engine/cancel_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace veneer::engine {
namespace {

void wait_for(const CancelToken& token) {
  while (!token.cancelled()) std::this_thread::yield();
}

TEST(CancelWatch, SetsTheTokenOnceTheFunctionSaysYes) {
  const CancelToken token;
  std::atomic<bool> wanted = false;
  const CancelWatch watch([&] { return wanted.load(); }, token);
  EXPECT_FALSE(token.cancelled());
  wanted = true;
  wait_for(token);
}

TEST(CancelWatch, EndsWithoutAWishLeavingTheTokenAsItWas) {
  const CancelToken token;
  std::atomic<int> asked = 0;
  {
    const CancelWatch watch([&] { return ++asked < 0; }, token);
    while (asked == 0) std::this_thread::yield();
  }
  EXPECT_FALSE(token.cancelled());
}

TEST(CancelWatch, DoesNothingWithoutAFunction) {
  const CancelToken token;
  { const CancelWatch watch({}, token); }
  EXPECT_FALSE(token.cancelled());
}

TEST(CancelWatch, TakesAnExceptionForAYes) {
  const CancelToken token;
  const CancelWatch watch([]() -> bool { throw std::runtime_error("the client is gone"); }, token);
  wait_for(token);
}

}  // namespace
}  // namespace veneer::engine
