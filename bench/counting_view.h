// A view that passes every call on and counts the arithmetic of convolutions, matmuls and attention.
#pragma once

#include <string>

#include "variant/model_view.h"

namespace veneer::bench {

class CountingView final : public variant::ModelView {
 public:
  // `text_tokens`: of the cross-attention's context.
  CountingView(variant::ModelView& inner, int64_t text_tokens) : inner_(inner), text_tokens_(text_tokens) {}

  // 2 per multiply-add.
  double flops() const { return flops_; }
  void reset() { flops_ = 0; }

  const variant::BaseModel& base() const override { return inner_.base(); }
  DType compute_dtype() const override { return inner_.compute_dtype(); }
  variant::NormWeights norm(variant::ModuleId module) override { return inner_.norm(module); }
  Tensor embedding(variant::ModuleId module) override { return inner_.embedding(module); }
  const variant::TransformerOptions& transformer_options() const override { return inner_.transformer_options(); }

  Tensor linear(compute::Context& context, variant::ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) override {
    Tensor y = inner_.linear(context, module, x, epilogue);
    count_module(module, y);
    count_attention(module, y);
    return y;
  }
  Tensor conv2d(compute::Context& context, variant::ModuleId module, const Tensor& x, const compute::Epilogue& epilogue) override {
    Tensor y = inner_.conv2d(context, module, x, epilogue);
    count_module(module, y);
    return y;
  }

 private:
  // Every output element is a dot product over the inputs of one output channel.
  void count_module(variant::ModuleId module, const Tensor& y) {
    const Tensor& weight = base().weight(base().modules()[module].name + ".weight");
    flops_ += 2.0 * static_cast<double>(y.num_elements()) * static_cast<double>(weight.shape().num_elements_from(1));
  }
  // q k^T and the product with v, told by the query's projection: y is [N, T, inner].
  void count_attention(variant::ModuleId module, const Tensor& y) {
    const std::string& name = base().modules()[module].name;
    if (name.ends_with("attn1.to_q")) flops_ += 4.0 * static_cast<double>(y.num_elements()) * static_cast<double>(y.dim(1));
    if (name.ends_with("attn2.to_q")) flops_ += 4.0 * static_cast<double>(y.num_elements()) * static_cast<double>(text_tokens_);
  }

  variant::ModelView& inner_;
  int64_t text_tokens_;
  double flops_ = 0;
};

}  // namespace veneer::bench
