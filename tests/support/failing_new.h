// Makes `new` fail on request, on the thread that asks for it. Linked into a program, it replaces the program's operator new.
#pragma once

#include <cstdint>

namespace veneer::testing {

// While it lives, the allocation number `at` of this thread (from 0; -1: none) throws std::bad_alloc. Not to be nested.
class FailingNew {
 public:
  explicit FailingNew(int64_t at);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
  // Allocations so far.
  int64_t calls() const;
};

}  // namespace veneer::testing
