// "diff": a full difference, added. File names: PREFIX.diff, PREFIX.diff_b (bias), PREFIX.w_norm and PREFIX.b_norm (norm layers).
#include <utility>
#include <vector>

#include "patch/add_scaled.h"
#include "patch/kinds/file_kinds.h"
#include "patch/kinds/values.h"
#include "patch/working_weight.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

class DiffAdder final : public RowAdder {
 public:
  DiffAdder(Tensor difference, double strength) : difference_(std::move(difference)), strength_(static_cast<float>(strength)) {}
  void add(const Tile& tile, const TileValues& values) const override {
    if (strength_ != 0) add_scaled(difference_, strength_, tile, values, [](const Tile&, const TileValues&) {});
  }

 private:
  Tensor difference_;
  float strength_;
};

class Diff final : public PatchValue {
 public:
  Diff(Tensor difference, bool pad) : PatchValue("diff", {difference}, {pad ? 1.0 : 0.0}), difference_(std::move(difference)), pad_(pad) {}

  void check(const Shape& weight) const override {
    if (pad_) return check_padding(weight, difference_.shape());
    if (difference_.shape() == weight) return;
    throw Error(ErrorCode::invalid, "diff: shape does not fit weight", {{"want", weight.to_string()}, {"got", difference_.shape().to_string()}});
  }

  Shape shape_after(const Shape& weight) const override { return pad_ ? difference_.shape() : weight; }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    if (strength == 0) return;
    if (pad_) weight.pad_to(difference_.shape());
    if (difference_.shape() != weight.shape()) check(weight.shape());
    Tensor values = weight.load(difference_);
    if (!values.writable() || values.bytes() == difference_.bytes()) values = values.clone();
    weight.add(std::move(values), strength, function);
  }

  std::unique_ptr<RowAdder> row_adder(const Shape& weight, double strength) const override {
    if (difference_.shape() != weight || weight.rank() == 0) return nullptr;
    return std::make_unique<DiffAdder>(difference_, strength);
  }

 private:
  Tensor difference_;
  bool pad_;
};

std::shared_ptr<PatchValue> parse(LayerTensors& layer, std::string_view suffix) {
  Tensor difference = layer.take(suffix);
  return difference.defined() ? std::make_shared<Diff>(std::move(difference), false) : nullptr;
}

}  // namespace

PatchValuePtr make_diff(Tensor difference, bool pad) { return std::make_shared<Diff>(std::move(difference), pad); }

std::shared_ptr<PatchValue> parse_diff(LayerTensors& layer) { return parse(layer, ".diff"); }
std::shared_ptr<PatchValue> parse_diff_bias(LayerTensors& layer) { return parse(layer, ".diff_b"); }
std::shared_ptr<PatchValue> parse_norm(LayerTensors& layer) { return parse(layer, ".w_norm"); }
// A norm's bias counts only beside its weight.
std::shared_ptr<PatchValue> parse_norm_bias(LayerTensors& layer) { return layer.find(".w_norm").defined() ? parse(layer, ".b_norm") : nullptr; }

}  // namespace veneer::patch
