// "nested": another weight with records of its own, added. Merges of two patched models are made of these.
#include <utility>

#include "patch/calculate_weight.h"
#include "patch/kinds/values.h"
#include "patch/working_weight.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

class Nested final : public PatchValue {
 public:
  Nested(Tensor base, std::optional<WeightFunction> convert, std::vector<PatchRecord> records)
      : PatchValue("nested", {base}), base_(std::move(base)), convert_(std::move(convert)), records_(std::move(records)) {}

  void check(const Shape& weight) const override {
    const Shape shape = patched_shape(base_.shape(), records_);
    if (shape != weight) {
      throw Error(ErrorCode::invalid, "nested: shape does not fit weight", {{"want", weight.to_string()}, {"got", shape.to_string()}});
    }
  }

  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    if (strength == 0) return;
    Tensor start = weight.load(base_).clone();
    if (convert_) {
      convert_->apply(start.mutable_floats());
      round_in_place(start.mutable_floats(), weight.dtype());
    }
    CalculateOptions options;
    options.working = weight.dtype();
    options.compat = weight.reference() ? PatchCompat::reference : PatchCompat::standard;
    Tensor inner = calculate_weight(start, records_, "nested", options);
    if (inner.shape() != weight.shape()) check(weight.shape());
    weight.add(std::move(inner), strength, function);
  }

 protected:
  void describe(FingerprintBuilder& builder) const override {
    builder.add(convert_ ? convert_->id : "");
    builder.add(records_.size());
    for (const PatchRecord& record : records_) add_to_fingerprint(builder, record);
  }

 private:
  Tensor base_;
  std::optional<WeightFunction> convert_;
  std::vector<PatchRecord> records_;
};

}  // namespace

PatchValuePtr make_nested(Tensor base, std::optional<WeightFunction> convert, std::vector<PatchRecord> records) {
  return std::make_shared<Nested>(std::move(base), std::move(convert), std::move(records));
}

}  // namespace veneer::patch
