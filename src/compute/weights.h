// Linear and convolution weights in the layout that the machine's fastest kernel wants.
//
// Both are immutable and shared; forward() may be called from several threads at once. Packing happens on first use of a shape (guarded), since
// oneDNN's preferred layout can depend on it.
#pragma once

#include <array>
#include <memory>

#include "compute/context.h"
#include "compute/conv_input.h"
#include "compute/row_source.h"
#include "tensor/tensor.h"

namespace veneer::compute {

enum class Activation : uint8_t { none, silu, gelu /* exact, erf */, quick_gelu /* x * sigmoid(1.702 x) */ };

// y = activation(W x + b) + residual.
struct Epilogue {
  Activation activation = Activation::none;
  // Same shape as the result and the context's dtype; null for none.
  const Tensor* residual = nullptr;
};

// In which dtype a layer that computes in f32 keeps its weights.
enum class WeightStorage : uint8_t {
  computed,  // f32: ready for the kernels
  compact,  // the source's own values, in 16 bits where they fit: half the memory and the same results; each forward expands them into scratch memory
};
// The dtype in which values of `source` (Tensor::plain_dtype()) lie then.
DType kept_dtype(DType source, DType compute_dtype, WeightStorage storage);

class Linear {
 public:
  virtual ~Linear() = default;
  // weight: [out, in] in any floating dtype, or rows that are made when they are packed (forward() then throws what making them throws); bias: [out]
  // or undefined. compute_dtype: f32 or bf16, must equal the context's at forward. Throws Error(invalid) for shapes that do not fit.
  static std::shared_ptr<const Linear> create(const WeightSource& weight, const Tensor& bias, DType compute_dtype,
                                              WeightStorage storage = WeightStorage::computed);
  // x: [..., in] -> [..., out], in the context's dtype.
  virtual Tensor forward(Context& context, const Tensor& x, const Epilogue& epilogue = {}) const = 0;
  virtual int64_t in_features() const = 0;
  virtual int64_t out_features() const = 0;
  // Bytes that this object keeps in memory (packed weights and bias; not the mapped source).
  virtual size_t size_bytes() const = 0;
};

struct ConvGeometry {
  int stride = 1;
  // Zero rows and columns added at each side.
  int pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  // Whether its input is mostly a doubled picture (ConvInput::is_doubled()): kernels are made for that then. For same3x3() only.
  bool enlarges = false;
  bool operator==(const ConvGeometry&) const = default;
  static ConvGeometry same3x3() { return {1, 1, 1, 1, 1}; }
  static ConvGeometry enlarging3x3() { return {1, 1, 1, 1, 1, true}; }
};

class Conv2d {
 public:
  virtual ~Conv2d() = default;
  // weight: [out, in, kh, kw] as Linear's; bias: [out] or undefined. 1x1 convolutions may run as matmuls.
  static std::shared_ptr<const Conv2d> create(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry, DType compute_dtype,
                                              WeightStorage storage = WeightStorage::computed);
  // x: [N, H, W, in] -> [N, H', W', out].
  virtual Tensor forward(Context& context, const ConvInput& x, const Epilogue& epilogue = {}) const = 0;
  virtual int64_t in_channels() const = 0;
  virtual int64_t out_channels() const = 0;
  virtual size_t size_bytes() const = 0;
};

}  // namespace veneer::compute
