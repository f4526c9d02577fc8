// How often something is measured: the best of a few rounds, fewer where one takes long.
#pragma once

#include <chrono>

namespace veneer::bench {

struct Rounds {
  int least = 2, most = 5;
  double seconds = 8;  // no further round once this is spent

  // Calls work() -> seconds until it is enough.
  template <typename Work>
  void run(const Work& work) const {
    double spent = 0;
    for (int i = 0; i < most && (i < least || spent < seconds); ++i) spent += work();
  }
};

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace veneer::bench
