// "oft" (arXiv:2306.07280, as kohya's trainer and LyCORIS's Diag-OFT store it): output rows are rotated in blocks, W1 = rescale * (R^T W), and
// W' = W + strength * (W1 - W).
#include <algorithm>
#include <utility>

#include "patch/cayley.h"
#include "patch/kinds/file_kinds.h"
#include "patch/kinds/rotation.h"
#include "patch/swap_dims.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

class Oft final : public PatchValue {
 public:
  explicit Oft(RotationParts parts)
      : PatchValue("oft", {parts.blocks, parts.rescale, parts.dora_scale}, {parts.alpha.value_or(0), parts.alpha ? 1.0 : 0.0}),
        parts_(std::move(parts)) {}

  void check(const Shape& weight) const override {
    check_rows(weight);
    check_rescale(parts_.rescale, weight);
    check_dora_scale(parts_.dora_scale, weight);
  }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    check_rows(weight.shape());
    Tensor rotation = cayley(parts_.blocks, constraint(parts_, weight));
    if (weight.reference()) return apply_as_reference(weight, std::move(rotation), strength, function);
    round_in_place(rotation.mutable_floats(), weight.dtype());
    WorkingWeight rotated(rotate(weight, rotation), weight.dtype(), PatchCompat::standard, false);
    apply_rescale(rotated, parts_.rescale);
    move_towards(weight, rotated, parts_, strength, 1, function);
  }

 private:
  void check_rows(const Shape& weight) const {
    if (weight.rank() >= 1 && parts_.blocks.dim(0) * parts_.blocks.dim(1) == weight[0]) return;
    throw Error(ErrorCode::invalid, "oft: shape does not fit weight", {{"want", weight.to_string()}, {"got", parts_.blocks.shape().to_string()}});
  }

  // Row m of a block becomes the sum over n of r[n, m] times row n.
  Tensor rotate(const WorkingWeight& weight, const Tensor& r) const {
    Tensor result = Tensor::empty(weight.shape(), DType::f32);
    const int64_t size = r.dim(1), columns = weight.shape().num_elements_from(1);
    const Tensor rows = weight.values().reshape({weight.shape()[0], columns});
    Tensor out = result.reshape({weight.shape()[0], columns});
    for (int64_t block = 0; block < r.dim(0); ++block) {
      const Tensor turned = weight.product(transpose(r.slice(block, 1).reshape({size, size})), rows.slice(block * size, size));
      std::copy_n(turned.data<float>(), size * columns, out.mutable_data<float>() + block * size * columns);
    }
    return result;
  }

  // strength (R - I) takes the place of the rotation and the difference is scaled by strength once more; rescale is not looked at.
  void apply_as_reference(WorkingWeight& weight, Tensor rotation, double strength, const WeightFunction* function) const {
    if (weight.dtype() != DType::f32) throw Error(ErrorCode::unsupported, "oft: the reference rotates in f32 only and leaves the weight as it is");
    const int64_t size = rotation.dim(1);
    const auto s = static_cast<float>(strength);
    const std::span<float> r = rotation.mutable_floats();
    for (size_t i = 0; i < r.size(); ++i) {
      const auto within = static_cast<int64_t>(i) % (size * size);
      r[i] = r[i] * s - (within / size == within % size ? s : 0.0F);
    }
    Tensor difference = rotate(weight, rotation);
    if (parts_.dora_scale.defined()) {
      weight.decompose(std::move(difference), parts_.alpha.value_or(0), parts_.dora_scale, strength, function);
    } else {
      weight.add(std::move(difference), strength, function);
    }
  }

  RotationParts parts_;
};

}  // namespace

std::shared_ptr<PatchValue> parse_oft(LayerTensors& layer) {
  const Tensor found = layer.find(".oft_blocks");
  if (!found.defined() || found.rank() != 3) return nullptr;
  const Tensor blocks = layer.require(".oft_blocks");
  check_factors(blocks.dim(1) == blocks.dim(2) && blocks.num_elements() > 0, "oft", blocks, blocks);
  RotationParts parts;
  parts.blocks = blocks;
  parts.rescale = layer.take(".rescale");
  parts.alpha = layer.alpha();
  parts.dora_scale = layer.dora_scale();
  return std::make_shared<Oft>(std::move(parts));
}

}  // namespace veneer::patch
