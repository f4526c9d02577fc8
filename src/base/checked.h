// Arithmetic on sizes that come from untrusted bytes: every function throws Error(corrupt) instead of wrapping around.
#pragma once

#include <cstdint>
#include <string_view>

#include "veneer/error.h"

namespace veneer {

inline uint64_t checked_add(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Error(ErrorCode::corrupt, "size overflows", {{"what", std::string(what)}});
  return sum;
}

inline uint64_t checked_mul(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw Error(ErrorCode::corrupt, "size overflows", {{"what", std::string(what)}});
  return product;
}

}  // namespace veneer
