// "boft" (arXiv:2311.06243, as LyCORIS stores it): the rotation is a product of butterfly stages, each rotating blocks of rows that lie a stride
// apart. W1 = rescale * (stages applied to W), W' = W + strength * (W1 - W).
#include <algorithm>
#include <string>
#include <utility>

#include "patch/cayley.h"
#include "patch/kinds/file_kinds.h"
#include "patch/kinds/rotation.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

constexpr std::string_view kReferenceFault = "boft: the reference needs f32 and an alpha, and leaves the weight as it is";

class Boft final : public PatchValue {
 public:
  explicit Boft(RotationParts parts)
      : PatchValue("boft", {parts.blocks, parts.rescale, parts.dora_scale}, {parts.alpha.value_or(0), parts.alpha ? 1.0 : 0.0}),
        parts_(std::move(parts)) {}

  void check(const Shape& weight) const override {
    check_rows(weight);
    check_rescale(parts_.rescale, weight);
    check_dora_scale(parts_.dora_scale, weight);
  }

  std::string_view reference_fault() const override { return parts_.alpha ? std::string_view() : kReferenceFault; }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    check_rows(weight.shape());
    if (weight.reference() && (weight.dtype() != DType::f32 || !parts_.alpha)) throw Error(ErrorCode::unsupported, std::string(kReferenceFault));
    Tensor rotation = cayley(parts_.blocks, constraint(parts_, weight));
    // The reference mixes every stage with the identity, and scales the difference by strength again below.
    if (weight.reference() && strength != 1) mix_with_identity(rotation, static_cast<float>(strength));
    round_in_place(rotation.mutable_floats(), weight.dtype());
    WorkingWeight rotated(weight.values().clone(), weight.dtype(), PatchCompat::standard, false);
    for (int64_t stage = 0; stage < rotation.dim(0); ++stage) turn(rotated, rotation.slice(stage, 1), stage);
    apply_rescale(rotated, parts_.rescale);
    move_towards(weight, rotated, parts_, strength, weight.reference() ? *parts_.alpha : 1, function);
  }

 private:
  void check_rows(const Shape& weight) const {
    const int64_t stages = parts_.blocks.dim(0), size = parts_.blocks.dim(2);
    bool fits = weight.rank() >= 1 && parts_.blocks.dim(1) * size == weight[0] && stages < 48;
    // Stage i pairs rows 2^i * size / 2 apart.
    if (fits) fits = weight[0] % (size << (stages - 1)) == 0;
    if (fits) return;
    throw Error(ErrorCode::invalid, "boft: shape does not fit weight", {{"want", weight.to_string()}, {"got", parts_.blocks.shape().to_string()}});
  }

  static void mix_with_identity(Tensor& rotation, float strength) {
    const int64_t size = rotation.dim(2);
    const std::span<float> r = rotation.mutable_floats();
    for (size_t i = 0; i < r.size(); ++i) {
      const auto within = static_cast<int64_t>(i) % (size * size);
      r[i] = r[i] * strength + (within / size == within % size ? 1.0F - strength : 0.0F);
    }
  }

  // Rows seen as [c, 2, k] are taken in the order [c, k, 2], in blocks, turned, and put back.
  static void turn(WorkingWeight& rows, const Tensor& stage_blocks, int64_t stage) {
    const int64_t count = stage_blocks.dim(1), size = stage_blocks.dim(2);
    const int64_t columns = rows.shape().num_elements_from(1), k = (int64_t{1} << stage) * (size / 2);
    const Tensor blocks = stage_blocks.reshape({count, size, size});
    Tensor values = rows.values();
    const auto row_of = [k](int64_t position) { return position / (2 * k) * 2 * k + position % 2 * k + position % (2 * k) / 2; };
    Tensor gathered = Tensor::empty({size, columns}, DType::f32);
    for (int64_t block = 0; block < count; ++block) {
      for (int64_t i = 0; i < size; ++i) {
        std::copy_n(values.data<float>() + row_of(block * size + i) * columns, columns, gathered.mutable_data<float>() + i * columns);
      }
      const Tensor turned = rows.product(blocks.slice(block, 1).reshape({size, size}), gathered);
      for (int64_t i = 0; i < size; ++i) {
        std::copy_n(turned.data<float>() + i * columns, columns, values.mutable_data<float>() + row_of(block * size + i) * columns);
      }
    }
  }

  RotationParts parts_;
};

}  // namespace

std::shared_ptr<PatchValue> parse_boft(LayerTensors& layer) {
  const Tensor found = layer.find(".oft_blocks");
  if (!found.defined() || found.rank() != 4) return nullptr;
  const Tensor blocks = layer.require(".oft_blocks");
  check_factors(blocks.dim(2) == blocks.dim(3) && blocks.num_elements() > 0 && blocks.dim(2) % 2 == 0, "boft", blocks, blocks);
  RotationParts parts;
  parts.blocks = blocks;
  parts.rescale = layer.take(".rescale");
  parts.alpha = layer.alpha();
  parts.dora_scale = layer.dora_scale();
  return std::make_shared<Boft>(std::move(parts));
}

}  // namespace veneer::patch
