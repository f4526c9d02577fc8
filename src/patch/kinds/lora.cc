// "lora" (arXiv:2106.09685): dW = alpha / rank * up @ down. Convolutions flatten from the second dimension on; with a third factor `mid` (Tucker, as
// LyCORIS's LoCon has it) down and mid are contracted first. With dora_scale: DoRA, see decompose.cc.
#include <array>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "patch/kinds/file_kinds.h"
#include "patch/matmul.h"
#include "patch/swap_dims.h"
#include "patch/working_weight.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

struct Factors {
  Tensor up;    // [out, rank, ...1]
  Tensor down;  // [rank, in, ...]; with mid [rank, in]
  Tensor mid;   // [rank, rank, kh, kw] or undefined
  std::optional<double> alpha;
  Tensor dora_scale;             // undefined: none
  std::optional<Shape> reshape;  // the weight grows to this shape first
};

// Of the factors' product.
uint64_t difference_elements(const Factors& f) {
  uint64_t columns = static_cast<uint64_t>(f.down.shape().num_elements_from(1));
  if (f.mid.defined()) columns = checked_mul(columns, static_cast<uint64_t>(f.mid.shape().num_elements_from(2)), "lora");
  return checked_mul(static_cast<uint64_t>(f.up.dim(0)), columns, "lora");
}

// [rank, in * kh * kw]
Tensor load_down(const Factors& f, const WorkingWeight& weight) {
  Tensor down = weight.load(f.down);
  if (!f.mid.defined()) return down;
  const Tensor mid = weight.load(f.mid);
  const int64_t rank = mid.dim(0), inner = mid.shape().num_elements_from(2), in = down.shape().num_elements_from(1);
  const Tensor joined = weight.product(transpose(down), swap_dims(mid, 1, rank, mid.dim(1), inner));  // [in, rank * k]
  return swap_dims(joined, 1, in, rank, inner);
}

class LoraAdder final : public RowAdder {
 public:
  LoraAdder(Factors factors, double scale) : factors_(std::move(factors)), scale_(static_cast<float>(scale)) {}
  void add(const Tile& tile, const TileValues& values) const override {
    std::call_once(loaded_, [this] { load(); });
    const int64_t rank = down_.dim(0), columns = down_.shape().num_elements_from(1);
    add_product(up_.data<float>() + tile.first_row * rank, static_cast<size_t>(rank), down_.data<float>() + tile.first_column,
                static_cast<size_t>(columns), scale_, tile, values);
  }

 private:
  // Not before the first tile: memory that was freed for the patched weight is for the weight, and this would be cut from it.
  void load() const {
    const WorkingWeight arithmetic(Tensor(), DType::f32, PatchCompat::standard, false);
    up_ = arithmetic.load(factors_.up);
    down_ = load_down(factors_, arithmetic);
  }

  Factors factors_;
  float scale_;
  mutable std::once_flag loaded_;
  mutable Tensor up_, down_;  // [out, rank], [rank, columns], f32
};

class Lora final : public PatchValue {
 public:
  Lora(Factors factors, Tensor reshape_tensor)
      : PatchValue("lora", {factors.up, factors.down, factors.mid, factors.dora_scale, std::move(reshape_tensor)},
                   {factors.alpha.value_or(0), factors.alpha ? 1.0 : 0.0}),
        f_(std::move(factors)),
        scale_(f_.alpha ? *f_.alpha / static_cast<double>(f_.down.dim(0)) : 1.0) {}

  void check(const Shape& weight) const override {
    if (f_.reshape) check_padding(weight, *f_.reshape);
    const Shape target = shape_after(weight);
    if (target.rank() < 1 || f_.up.dim(0) != target[0] || difference_elements(f_) != static_cast<uint64_t>(target.num_elements())) {
      throw Error(ErrorCode::invalid, "lora: shape does not fit weight", {{"want", target.to_string()}, {"got", describe_shape()}});
    }
    check_dora_scale(f_.dora_scale, target);
  }

  Shape shape_after(const Shape& weight) const override { return f_.reshape.value_or(weight); }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    const Shape target = shape_after(weight.shape());
    if (difference_elements(f_) != static_cast<uint64_t>(target.num_elements())) check(weight.shape());
    Tensor difference = weight.product(weight.load(f_.up), load_down(f_, weight));
    if (f_.reshape) weight.pad_to(target);
    if (f_.dora_scale.defined()) {
      weight.decompose(std::move(difference), scale_, f_.dora_scale, strength, function);
    } else {
      weight.add(std::move(difference), strength * scale_, function);
    }
  }

  std::unique_ptr<RowAdder> row_adder(const Shape& weight, double strength) const override {
    if (f_.dora_scale.defined() || f_.reshape || weight.rank() == 0 || f_.up.dim(0) != weight[0] ||
        difference_elements(f_) != static_cast<uint64_t>(weight.num_elements())) {
      return nullptr;
    }
    return std::make_unique<LoraAdder>(f_, strength * scale_);
  }

  std::optional<LowRank> low_rank() const override {
    if (f_.mid.defined() || f_.dora_scale.defined() || f_.reshape) return std::nullopt;
    return LowRank{f_.up.reshape({f_.up.dim(0), f_.down.dim(0)}), f_.down, scale_};
  }

 private:
  std::string describe_shape() const {
    return f_.up.shape().to_string() + (f_.mid.defined() ? " x " + f_.mid.shape().to_string() : "") + " x " + f_.down.shape().to_string();
  }

  Factors f_;
  double scale_;
};

// Spellings of the pair, in order of precedence: kohya, diffusers, PEFT, diffusers with dots, bare A and B, transformers, PEFT with an adapter name.
constexpr std::array<std::array<std::string_view, 2>, 7> kPairs = {{{".lora_up.weight", ".lora_down.weight"},
                                                                    {"_lora.up.weight", "_lora.down.weight"},
                                                                    {".lora_B.weight", ".lora_A.weight"},
                                                                    {".lora.up.weight", ".lora.down.weight"},
                                                                    {".lora_B", ".lora_A"},
                                                                    {".lora_linear_layer.up.weight", ".lora_linear_layer.down.weight"},
                                                                    {".lora_B.default.weight", ".lora_A.default.weight"}}};

// PEFT's names for DoRA's magnitudes, one per output row: as saved, and with the adapter's name that a model's own state has in it.
constexpr std::array<std::string_view, 4> kMagnitudes = {".lora_magnitude_vector", ".lora_magnitude_vector.weight", ".lora_magnitude_vector.default",
                                                         ".lora_magnitude_vector.default.weight"};

// The magnitudes as LyCORIS stores those of output rows, [out, 1]: PEFT has [out], and [1, out, 1, 1] for convolutions, where dora_scale of that
// shape would mean input columns.
Tensor take_magnitudes(LayerTensors& layer, const Tensor& up) {
  for (const std::string_view suffix : kMagnitudes) {
    const Tensor magnitudes = layer.take(suffix);
    if (!magnitudes.defined()) continue;
    check_factors(magnitudes.num_elements() == up.dim(0), "dora", up, magnitudes);
    return magnitudes.reshape({up.dim(0), 1});
  }
  return {};
}

std::optional<Shape> read_reshape(const Tensor& tensor) {
  if (!tensor.defined()) return std::nullopt;
  const Tensor extents = to_dtype(tensor, DType::f64);
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < extents.num_elements(); ++i) {
    const double extent = extents.data<double>()[i];
    if (!(extent >= 1 && extent <= 0x1p40 && extent == std::floor(extent)) || dims.size() == Shape::kMaxRank) {
      throw Error(ErrorCode::corrupt, "lora: reshape_weight is not a shape", {{"shape", tensor.shape().to_string()}});
    }
    dims.push_back(static_cast<int64_t>(extent));
  }
  return Shape(std::span<const int64_t>(dims));
}

void check_parts(const Factors& f) {
  check_factors(f.up.rank() >= 2 && f.down.rank() >= 2 && f.down.dim(0) > 0, "lora", f.up, f.down);
  const int64_t up_rank = f.up.shape().num_elements_from(1);
  if (!f.mid.defined()) return check_factors(up_rank == f.down.dim(0), "lora", f.up, f.down);
  check_factors(f.mid.rank() >= 3 && f.mid.dim(0) == up_rank, "lora", f.up, f.mid);
  check_factors(f.mid.dim(1) == f.down.dim(0), "lora", f.mid, f.down);
}

// What the weight grows to is what the factors' product has.
void check_reshape(const Factors& f) {
  if (!f.reshape || static_cast<uint64_t>(f.reshape->num_elements()) == difference_elements(f)) return;
  throw Error(ErrorCode::corrupt, "lora: reshape_weight is not the shape of the factors' product",
              {{"want", "[" + std::to_string(f.up.dim(0)) + ", ...] of " + std::to_string(difference_elements(f)) + " elements"},
               {"got", f.reshape->to_string()}});
}

}  // namespace

std::shared_ptr<PatchValue> parse_lora(LayerTensors& layer) {
  for (const auto& [up, down] : kPairs) {
    if (!layer.find(up).defined()) continue;
    Factors factors;
    factors.up = layer.require(up);
    factors.down = layer.require(down);
    if (up == kPairs[0][0]) factors.mid = layer.take(".lora_mid.weight");
    factors.alpha = layer.alpha();
    factors.dora_scale = layer.dora_scale();
    Tensor reshape = layer.take(".reshape_weight");
    factors.reshape = read_reshape(reshape);
    check_parts(factors);
    check_reshape(factors);
    if (!factors.dora_scale.defined() && layer.compat() == PatchCompat::standard) factors.dora_scale = take_magnitudes(layer, factors.up);
    return std::make_shared<Lora>(std::move(factors), std::move(reshape));
  }
  return nullptr;
}

}  // namespace veneer::patch
