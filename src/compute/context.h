// What an op needs to know about its execution: where results live and in which dtype activations are kept.
#pragma once

#include "tensor/tensor.h"

namespace veneer::compute {

// One per execution (a sampling run, an encode, ...), used by one thread at a time; ops themselves run on parallel_for's team.
struct Context {
  // Results and temporaries come from here. A BlockCache (block_cache.h) keeps malloc and page faults out of the step loop.
  Allocator& scratch = system_allocator();
  // f32 (bit-stable) or bf16 (storage in bf16, accumulation in f32). Activations that ops return have this dtype.
  DType dtype = DType::f32;
};

}  // namespace veneer::compute
