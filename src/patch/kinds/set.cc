// "set": a whole new weight in place of the old one. File name: PREFIX.set_weight.
#include <utility>

#include "patch/kinds/file_kinds.h"
#include "patch/kinds/values.h"
#include "patch/working_weight.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

class Set final : public PatchValue {
 public:
  explicit Set(Tensor value) : PatchValue("set", {value}), value_(std::move(value)) {}

  void check(const Shape& weight) const override {
    if (value_.shape() == weight) return;
    throw Error(ErrorCode::invalid, "set: shape does not fit weight", {{"want", weight.to_string()}, {"got", value_.shape().to_string()}});
  }

  void apply(WorkingWeight& weight, double, const WeightFunction*) const override {
    check(weight.shape());
    weight.assign(weight.load(value_));
  }

 private:
  Tensor value_;
};

}  // namespace

PatchValuePtr make_set(Tensor value) { return std::make_shared<Set>(std::move(value)); }

std::shared_ptr<PatchValue> parse_set(LayerTensors& layer) {
  Tensor value = layer.take(".set_weight");
  return value.defined() ? std::make_shared<Set>(std::move(value)) : nullptr;
}

}  // namespace veneer::patch
