// Attention in bf16 by oneDNN's matmuls: for CPUs that multiply tiles of bf16 (AMX), where its kernels are several times as fast as f32 registers.
#pragma once

#include "compute/context.h"
#include "compute/ops.h"

namespace veneer::compute {

// attention() of operands in bf16 that it has checked, with at least one query and one key. y: [N, Tq, heads * head_dim]. Throws Error(unsupported)
// where oneDNN has no bf16.
void attention_by_matmuls(Context& context, const AttentionOperand& q, const AttentionOperand& k, const AttentionOperand& v,
                          const AttentionShape& shape, Tensor& y);

}  // namespace veneer::compute
