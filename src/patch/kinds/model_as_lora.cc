// "model_as_lora": the difference of two models' weights.
#include <utility>

#include "patch/kinds/values.h"
#include "patch/working_weight.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

class ModelAsLora final : public PatchValue {
 public:
  ModelAsLora(Tensor target, Tensor original, std::optional<Fingerprint> identity)
      : PatchValue("model_as_lora", {target, original}, {}, identity), target_(std::move(target)), original_(std::move(original)) {}

  void check(const Shape& weight) const override {
    for (const Tensor& tensor : {target_, original_}) {
      if (tensor.shape() == weight) continue;
      throw Error(ErrorCode::invalid, "model_as_lora: shape does not fit weight",
                  {{"want", weight.to_string()}, {"got", tensor.shape().to_string()}});
    }
  }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    check(weight.shape());
    WorkingWeight difference(weight.load(target_).clone(), weight.dtype(), PatchCompat::standard, false);
    difference.add(weight.load(original_).clone(), -1, nullptr);
    weight.add(difference.values(), strength, function);
  }

 private:
  Tensor target_, original_;
};

}  // namespace

PatchValuePtr make_model_as_lora(Tensor target, Tensor original, std::optional<Fingerprint> identity) {
  return std::make_shared<ModelAsLora>(std::move(target), std::move(original), identity);
}

}  // namespace veneer::patch
