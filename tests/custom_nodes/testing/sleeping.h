// Sleeping that ends when the job is cancelled.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "veneer/plugin.h"

namespace testing_pack {

// Sleeps in short steps. Before each, `step` gets the seconds that have passed.
template <typename Step>
void sleep_through(const veneer::plugin::Call& call, double seconds, Step step) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  double passed = 0;
  while (passed < seconds) {
    passed = std::chrono::duration<double>(Clock::now() - start).count();
    step(std::min(passed, seconds));
    call.check_cancelled();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

inline void sleep_through(const veneer::plugin::Call& call, double seconds) {
  sleep_through(call, seconds, [](double) {});
}

}  // namespace testing_pack
