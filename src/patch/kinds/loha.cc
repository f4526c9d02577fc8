// "loha" (LyCORIS, after FedPara, arXiv:2108.06098): dW = alpha / rank * (w1_a @ w1_b) * (w2_a @ w2_b), the outer product by element. With cores t1,
// t2 each factor is a Tucker product. With dora_scale: DoRA.
#include <utility>

#include "base/checked.h"
#include "base/parallel.h"
#include "patch/kinds/file_kinds.h"
#include "patch/tucker.h"
#include "patch/working_weight.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

// One of the two factors. Plain: a [out, rank], b [rank, columns]. Tucker: a [rank, out], b [rank, in], core [rank, rank, kh, kw].
struct Factor {
  Tensor a, b, core;

  void check() const {
    check_factors(a.rank() == 2 && b.rank() == 2 && b.dim(0) > 0, "loha", a, b);
    if (core.defined()) return check_tucker(core, a, b, "loha");
    check_factors(a.dim(1) == b.dim(0), "loha", a, b);
  }
  int64_t rows() const { return core.defined() ? a.dim(1) : a.dim(0); }
  uint64_t columns() const {
    const auto in = static_cast<uint64_t>(b.dim(1));
    return core.defined() ? checked_mul(in, static_cast<uint64_t>(core.shape().num_elements_from(2)), "loha") : in;
  }
  Tensor product(const WorkingWeight& weight) const {
    if (core.defined()) return tucker(weight, weight.load(core), weight.load(a), weight.load(b));
    return weight.product(weight.load(a), weight.load(b));
  }
};

class Loha final : public PatchValue {
 public:
  Loha(Factor first, Factor second, std::optional<double> alpha, Tensor dora_scale)
      : PatchValue("loha", {first.a, first.b, first.core, second.a, second.b, second.core, dora_scale}, {alpha.value_or(0), alpha ? 1.0 : 0.0}),
        first_(std::move(first)),
        second_(std::move(second)),
        dora_scale_(std::move(dora_scale)),
        scale_(alpha ? *alpha / static_cast<double>(first_.b.dim(0)) : 1.0) {}

  void check(const Shape& weight) const override {
    check_elements(weight);
    if (weight.rank() < 1 || first_.rows() != weight[0]) fail(weight);
    check_dora_scale(dora_scale_, weight);
  }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    check_elements(weight.shape());
    Tensor difference = first_.product(weight);
    const Tensor second = second_.product(weight);
    const std::span<float> d = difference.mutable_floats();
    const std::span<const float> s = second.floats();
    parallel_for(d.size(), size_t{1} << 16, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) d[i] *= s[i];
    });
    round_in_place(d, weight.dtype());
    if (dora_scale_.defined()) {
      weight.decompose(std::move(difference), scale_, dora_scale_, strength, function);
    } else {
      weight.add(std::move(difference), strength * scale_, function);
    }
  }

 private:
  void check_elements(const Shape& weight) const {
    if (checked_mul(static_cast<uint64_t>(first_.rows()), first_.columns(), "loha") != static_cast<uint64_t>(weight.num_elements())) fail(weight);
  }
  [[noreturn]] void fail(const Shape& weight) const {
    throw Error(ErrorCode::invalid, "loha: shape does not fit weight",
                {{"want", weight.to_string()}, {"got", Shape({first_.rows(), static_cast<int64_t>(first_.columns())}).to_string()}});
  }

  Factor first_, second_;
  Tensor dora_scale_;
  double scale_;
};

}  // namespace

std::shared_ptr<PatchValue> parse_loha(LayerTensors& layer) {
  if (!layer.find(".hada_w1_a").defined()) return nullptr;
  Factor first{layer.require(".hada_w1_a"), layer.require(".hada_w1_b"), {}};
  Factor second{layer.require(".hada_w2_a"), layer.require(".hada_w2_b"), {}};
  if (layer.find(".hada_t1").defined()) {
    first.core = layer.require(".hada_t1");
    second.core = layer.require(".hada_t2");
  }
  first.check();
  second.check();
  check_factors(first.rows() == second.rows() && first.columns() == second.columns(), "loha", first.a, second.a);
  const std::optional<double> alpha = layer.alpha();
  return std::make_shared<Loha>(std::move(first), std::move(second), alpha, layer.dora_scale());
}

}  // namespace veneer::patch
