// Faults on request: everything in a variant that can fail counts its calls, and the call with a given number fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/cancel.h"
#include "support/random_adapters.h"
#include "tensor/tensor.h"
#include "variant/model_patcher.h"

namespace veneer::testing {

enum class Fault : uint8_t {
  allocation,    // Error(no_memory)
  read,          // Error(corrupt), as for a file that cannot be read any more
  cancellation,  // the token is set; whoever looks at it next throws
  hook,          // a type that the engine does not know
};

// All members may be called from any thread.
class FaultPlan {
 public:
  // The call number `at` from now on fails, the first one being 0; with -1 none does. Starts the count anew.
  void arm(int64_t at);
  void disarm() { arm(-1); }
  int64_t calls() const { return calls_; }
  bool failed() const { return failed_; }
  // Cancelled by Fault::cancellation.
  CancelToken token() const { return token_; }

  // A point that can fail.
  void point(Fault fault);

 private:
  std::atomic<int64_t> calls_{0}, at_{-1};
  std::atomic<bool> failed_{false};
  CancelToken token_;
};

// The system's memory, with a point before each allocation.
class FaultyAllocator final : public Allocator {
 public:
  explicit FaultyAllocator(std::shared_ptr<FaultPlan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<std::byte> allocate(size_t size_bytes) override {
    plan_->point(Fault::allocation);
    return system_allocator().allocate(size_bytes);
  }

 private:
  std::shared_ptr<FaultPlan> plan_;
};

// The same patches, with a point wherever their content is read.
Patches faulty(const Patches& patches, const std::shared_ptr<FaultPlan>& plan);

// Adds to a variant one of everything that extensions may add, with points in it, and without any effect on what it computes: callbacks, injections,
// wrappers of weights and of the network, patches of the network's blocks (these cancel).
void add_faulty_extensions(variant::ModelPatcher& patcher, const std::shared_ptr<FaultPlan>& plan);

}  // namespace veneer::testing
