// Wall-clock time as the protocol writes it.
#pragma once

#include <chrono>
#include <cstdint>

namespace veneer::jobs {

// Milliseconds since 1970.
inline int64_t now_ms() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace veneer::jobs
