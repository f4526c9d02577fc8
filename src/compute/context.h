// What an op needs to know about its execution: where results live and in which dtype activations are kept.
#pragma once

#include <memory>

#include "tensor/tensor.h"

namespace veneer {
class Profile;
}

namespace veneer::compute {

class AttentionPlans;
class OperationCache;
// What matmuls and convolutions compiled for the shapes met so far, for Context::operations.
std::shared_ptr<OperationCache> make_operation_cache();

// One per execution (a sampling run, an encode, ...), used by one thread at a time; ops themselves run on parallel_for's team.
struct Context {
  // Results and temporaries come from here, in part from several threads at once. A BlockCache (block_cache.h) keeps malloc and page faults out of
  // the step loop.
  Allocator& scratch = system_allocator();
  // f32 (bit-stable) or bf16 (storage in bf16, accumulation in f32). Activations that ops return have this dtype.
  DType dtype = DType::f32;
  // What attention compiled for the shapes met so far; made on first use. Keep the Context for many steps, so that it serves.
  std::shared_ptr<AttentionPlans> attention_plans = nullptr;
  // Shared by all contexts of a program, so that layers of shapes met before need no compiling. Null: each layer compiles for itself.
  std::shared_ptr<OperationCache> operations = nullptr;
  // Gets a span for each op (base/profile.h), and has to outlive the context. Null: nobody wants to know.
  Profile* profile = nullptr;
};

}  // namespace veneer::compute
