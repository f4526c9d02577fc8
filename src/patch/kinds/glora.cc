// "glora" (arXiv:2306.07967): dW = alpha / rank * (W a1 a2 + b1 b2), where W is the weight as the record finds it. Files of older trainers hold the
// factors the other way round (b2 b1 + W a2 a1); the shapes tell. With dora_scale: DoRA.
#include <array>
#include <utility>

#include "base/parallel.h"
#include "patch/kinds/file_kinds.h"
#include "patch/swap_dims.h"
#include "patch/working_weight.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

class Glora final : public PatchValue {
 public:
  Glora(std::array<Tensor, 4> factors, std::optional<double> alpha, Tensor dora_scale)
      : PatchValue("glora", {factors[0], factors[1], factors[2], factors[3], dora_scale}, {alpha.value_or(0), alpha ? 1.0 : 0.0}),
        a1_(std::move(factors[0])),
        a2_(std::move(factors[1])),
        b1_(std::move(factors[2])),
        b2_(std::move(factors[3])),
        alpha_(alpha),
        dora_scale_(std::move(dora_scale)) {}

  void check(const Shape& weight) const override {
    check_extents(weight);
    check_dora_scale(dora_scale_, weight);
  }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    check_extents(weight.shape());
    const bool old = old_layout(weight.shape());
    const double scale = alpha_ ? *alpha_ / static_cast<double>(old ? a1_.dim(0) : a2_.dim(0)) : 1.0;
    WorkingWeight difference(old ? from_old(weight) : from_new(weight), weight.dtype(), PatchCompat::standard, false);
    const Tensor plain = old ? weight.product(weight.load(b2_), weight.load(b1_)) : weight.product(weight.load(b1_), weight.load(b2_));
    difference.add(plain, 1, nullptr);
    if (dora_scale_.defined()) {
      weight.decompose(difference.values(), scale, dora_scale_, strength, function);
    } else {
      weight.add(difference.values(), strength * scale, function);
    }
  }

 private:
  // Both patterns can hold at once when rank, input and output agree; the newer one wins unless the weight is square and its size is the rank.
  bool old_layout(const Shape& weight) const {
    const bool old = b2_.dim(1) == b1_.dim(0) && b1_.dim(0) == a1_.dim(0) && a1_.dim(0) == a2_.dim(1);
    const bool now = b2_.dim(0) == b1_.dim(1) && b1_.dim(1) == a1_.dim(1) && a1_.dim(1) == a2_.dim(0);
    if (!now) return old;
    return old && a2_.dim(0) == weight[0] && weight.rank() >= 2 && weight[0] == weight[1];
  }

  void check_extents(const Shape& weight) const {
    bool fits = weight.rank() >= 2;
    if (fits && old_layout(weight)) {
      const int64_t columns = weight.num_elements_from(1);
      fits = a2_.dim(0) == columns && a1_.dim(1) == columns && a1_.dim(0) == a2_.dim(1) && b2_.dim(0) == weight[0] && b1_.dim(1) == columns &&
             b2_.dim(1) == b1_.dim(0);
    } else if (fits) {
      fits = a1_.dim(0) == weight[1] && a2_.dim(1) == weight[1] && a1_.dim(1) == a2_.dim(0) && a2_.dim(0) > 0 && b1_.dim(0) == weight[0] &&
             b1_.dim(1) == b2_.dim(0) && b2_.dim(1) == weight.num_elements_from(1);
    }
    if (fits) return;
    throw Error(ErrorCode::invalid, "glora: shape does not fit weight",
                {{"want", weight.to_string()}, {"got", b1_.shape().to_string() + " x " + b2_.shape().to_string()}});
  }

  Tensor from_old(const WorkingWeight& weight) const { return weight.product(weight.product(weight.values(), weight.load(a2_)), weight.load(a1_)); }

  // Contracts the input channels; for a convolution at each spatial position.
  Tensor from_new(const WorkingWeight& weight) const {
    const int64_t out = weight.shape()[0], in = weight.shape()[1], inner = weight.shape().num_elements_from(2);
    const Tensor rows = swap_dims(weight.values(), out, in, inner, 1).reshape({out * inner, in});
    const Tensor mapped = weight.product(weight.product(rows, weight.load(a1_)), weight.load(a2_));
    return swap_dims(mapped, out, inner, in, 1);
  }

  Tensor a1_, a2_, b1_, b2_;
  std::optional<double> alpha_;
  Tensor dora_scale_;
};

}  // namespace

std::shared_ptr<PatchValue> parse_glora(LayerTensors& layer) {
  if (!layer.find(".a1.weight").defined()) return nullptr;
  std::array<Tensor, 4> factors = {layer.require(".a1.weight"), layer.require(".a2.weight"), layer.require(".b1.weight"),
                                   layer.require(".b2.weight")};
  for (Tensor& factor : factors) {
    check_factors(factor.rank() >= 2 && factor.dim(0) > 0, "glora", factor, factor);
    factor = factor.reshape({factor.dim(0), factor.shape().num_elements_from(1)});
  }
  const std::optional<double> alpha = layer.alpha();
  return std::make_shared<Glora>(std::move(factors), alpha, layer.dora_scale());
}

}  // namespace veneer::patch
