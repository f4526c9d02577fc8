// The only door to oneDNN (2.6 and 3.x): compiled matmuls and convolutions with a fused epilogue. Included by .cc files of this room alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>

#include "compute/blocked_layout.h"
#include "compute/context.h"
#include "compute/weights.h"
#include "tensor/tensor.h"

namespace veneer::compute::onednn {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

// f32 or bf16. Throws Error(invalid) for others.
dnnl::memory::data_type data_type(DType dtype);

// What follows the sum of products, inside of the same pass over the result: activation, then + residual.
struct EpilogueSpec {
  Activation activation = Activation::none;
  bool residual = false;
  bool operator==(const EpilogueSpec&) const = default;
};

// One compiled primitive. Immutable; execute() may be called from several threads at once.
struct Operation {
  dnnl::primitive primitive;
  Desc src, weights, bias, dst;  // bias: zero descriptor for none
  // How the bytes of the weights lie, in the terms of the layer that packs them. Differs from `weights` where a convolution runs as a matmul.
  Desc layout;
  size_t scratchpad_bytes = 0;
  Desc scratchpad;
  // False where oneDNN has no fast kernel with the residual inside: then the layer adds it in a second pass.
  bool residual_fused = false;
  int residual_index = 0;  // among the post-ops
  int threads = 1;         // that the work was divided among when it was compiled
  std::string implementation;
};

bool is_matrix(const Desc& desc);
// Nothing for layouts that are not blocks of the elements alone.
std::optional<BlockedLayout> blocked_layout(const Desc& desc);

struct MatmulDescs {
  Desc src, weights, bias, dst;
};
struct ConvDescs {
  Desc src, weights, bias, dst;
  ConvGeometry geometry;
};

// `accumulate`: y = x W + y, in place of every epilogue. Compiled for `threads` threads (see thread_count()). Throws Error(unsupported) where
// this machine cannot do it.
Operation compile(const MatmulDescs& descs, const EpilogueSpec& epilogue, int threads, bool accumulate = false);
Operation compile(const ConvDescs& descs, const EpilogueSpec& epilogue, int threads);

// Threads to compile for when called from here: 1 inside of a parallel_for. execute() runs with as many as the operation was compiled for, since
// oneDNN's results would miss parts, or differ in bits, with others.
int thread_count();

struct Arguments {
  const void* src = nullptr;
  const void* weights = nullptr;
  const float* bias = nullptr;
  const void* residual = nullptr;
  void* dst = nullptr;
};
// The scratchpad of the primitive comes from `scratch`.
void execute(const Operation& operation, const Arguments& arguments, Allocator& scratch);
// The same with memory for the scratchpad that the caller owns (operation.scratchpad_bytes, aligned to 64).
void execute(const Operation& operation, const Arguments& arguments, void* scratchpad);

// Rewrites a tensor in another layout or dtype: compiled, for execute() with src and dst, or at once.
Operation compile_reorder(const Desc& from, const Desc& to, int threads);
void reorder(const Desc& from, const void* source, const Desc& to, void* target);

enum class IsaCap : uint8_t { baseline, avx2, avx512, avx512_bf16, none };
// False when oneDNN's choice is fixed already.
bool cap_isa(IsaCap cap);
std::string version();  // "2.6.3"
bool bf16_supported();
bool bf16_native();
bool amx_native();

}  // namespace veneer::compute::onednn
