// "lokr" (LyCORIS, arXiv:2309.14859): dW = alpha / rank * kron(w1, w2), where each of w1, w2 is a whole matrix or a product a @ b, and w2 also a
// Tucker product. rank is that of a factored one, w2's if both are; with neither factored alpha has no effect. With dora_scale: DoRA.
#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/parallel.h"
#include "patch/kinds/file_kinds.h"
#include "patch/tucker.h"
#include "patch/working_weight.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

struct Factor {
  Tensor whole;  // [rows, ...] or undefined
  Tensor a, b;   // [rows, rank], [rank, columns]; with core [rank, rows], [rank, in]
  Tensor core;

  void check() const {
    if (whole.defined()) return check_factors(whole.rank() >= 2, "lokr", whole, whole);
    check_factors(a.rank() == 2 && b.rank() == 2 && b.dim(0) > 0, "lokr", a, b);
    if (core.defined()) return check_tucker(core, a, b, "lokr");
    check_factors(a.dim(1) == b.dim(0), "lokr", a, b);
  }
  uint64_t rows() const { return static_cast<uint64_t>(whole.defined() ? whole.dim(0) : core.defined() ? a.dim(1) : a.dim(0)); }
  uint64_t columns() const {
    if (whole.defined()) return static_cast<uint64_t>(whole.shape().num_elements_from(1));
    const auto in = static_cast<uint64_t>(b.dim(1));
    return core.defined() ? checked_mul(in, static_cast<uint64_t>(core.shape().num_elements_from(2)), "lokr") : in;
  }
  Tensor values(const WorkingWeight& weight) const {
    if (whole.defined()) return weight.load(whole);
    if (core.defined()) return tucker(weight, weight.load(core), weight.load(a), weight.load(b));
    return weight.product(weight.load(a), weight.load(b));
  }
};

// Spatial extents of w2 are the fastest in both operands, so treating w2 as [rows, columns] gives the layout of the convolution's weight.
Tensor kronecker(const Tensor& first, const Tensor& second, const Shape& shape) {
  Tensor result = Tensor::empty(shape, DType::f32);
  const auto rows1 = static_cast<size_t>(first.dim(0)), columns1 = static_cast<size_t>(first.shape().num_elements_from(1));
  const auto rows2 = static_cast<size_t>(second.dim(0)), columns2 = static_cast<size_t>(second.shape().num_elements_from(1));
  float* out = result.mutable_data<float>();
  parallel_for(rows1 * rows2, std::max<size_t>(1, (size_t{1} << 15) / std::max<size_t>(1, columns1 * columns2)), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const float* a = first.data<float>() + row / rows2 * columns1;
      const float* b = second.data<float>() + row % rows2 * columns2;
      float* to = out + row * columns1 * columns2;
      for (size_t i = 0; i < columns1; ++i) {
        for (size_t j = 0; j < columns2; ++j) *to++ = a[i] * b[j];
      }
    }
  });
  return result;
}

constexpr std::string_view kReferenceFault = "lokr: the reference fails on a Tucker factor and leaves the weight as it is";

class Lokr final : public PatchValue {
 public:
  Lokr(Factor first, Factor second, std::optional<double> alpha, Tensor dora_scale)
      : PatchValue("lokr", {first.whole, first.a, first.b, second.whole, second.a, second.b, second.core, dora_scale},
                   {alpha.value_or(0), alpha ? 1.0 : 0.0}),
        first_(std::move(first)),
        second_(std::move(second)),
        dora_scale_(std::move(dora_scale)) {
    const Factor* factored = !second_.whole.defined() ? &second_ : !first_.whole.defined() ? &first_ : nullptr;
    if (alpha && factored != nullptr) scale_ = *alpha / static_cast<double>(factored->b.dim(0));
  }

  void check(const Shape& weight) const override {
    check_elements(weight);
    if (weight.rank() < 1 || first_.rows() * second_.rows() != static_cast<uint64_t>(weight[0])) fail(weight);
    check_dora_scale(dora_scale_, weight);
  }

  std::string_view reference_fault() const override { return second_.core.defined() ? kReferenceFault : std::string_view(); }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    check_elements(weight.shape());
    if (weight.reference() && second_.core.defined()) throw Error(ErrorCode::unsupported, std::string(kReferenceFault));
    Tensor difference = kronecker(first_.values(weight), second_.values(weight), weight.shape());
    round_in_place(difference.mutable_floats(), weight.dtype());
    if (dora_scale_.defined()) {
      weight.decompose(std::move(difference), scale_, dora_scale_, strength, function);
    } else {
      weight.add(std::move(difference), strength * scale_, function);
    }
  }

 private:
  uint64_t elements() const {
    const uint64_t rows = checked_mul(first_.rows(), second_.rows(), "lokr"), columns = checked_mul(first_.columns(), second_.columns(), "lokr");
    return checked_mul(rows, columns, "lokr");
  }
  void check_elements(const Shape& weight) const {
    if (elements() != static_cast<uint64_t>(weight.num_elements())) fail(weight);
  }
  [[noreturn]] void fail(const Shape& weight) const {
    const auto matrix = [](const Factor& f) { return Shape({static_cast<int64_t>(f.rows()), static_cast<int64_t>(f.columns())}).to_string(); };
    throw Error(ErrorCode::invalid, "lokr: shape does not fit weight",
                {{"want", weight.to_string()}, {"got", matrix(first_).append(" kron ").append(matrix(second_))}});
  }

  Factor first_, second_;
  Tensor dora_scale_;
  double scale_ = 1;
};

Factor take_factor(LayerTensors& layer, std::string_view whole, std::string_view a, std::string_view b) {
  Factor factor;
  factor.whole = layer.take(whole);
  if (!factor.whole.defined()) {
    factor.a = layer.require(a);
    factor.b = layer.require(b);
  }
  return factor;
}

}  // namespace

std::shared_ptr<PatchValue> parse_lokr(LayerTensors& layer) {
  bool any = false;
  for (const std::string_view suffix : {".lokr_w1", ".lokr_w2", ".lokr_w1_a", ".lokr_w2_a"}) any = any || layer.find(suffix).defined();
  if (!any) return nullptr;
  Factor first = take_factor(layer, ".lokr_w1", ".lokr_w1_a", ".lokr_w1_b");
  Factor second = take_factor(layer, ".lokr_w2", ".lokr_w2_a", ".lokr_w2_b");
  if (!second.whole.defined()) second.core = layer.take(".lokr_t2");
  first.check();
  second.check();
  const std::optional<double> alpha = layer.alpha();
  return std::make_shared<Lokr>(std::move(first), std::move(second), alpha, layer.dora_scale());
}

}  // namespace veneer::patch
