// "nested": another weight with records of its own, added. Merges of two patched models are made of these.
#include <algorithm>
#include <utility>

#include "patch/add_scaled.h"
#include "patch/calculate_weight.h"
#include "patch/kinds/values.h"
#include "patch/row_steps.h"
#include "patch/working_weight.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

class NestedAdder final : public RowAdder {
 public:
  NestedAdder(Tensor base, RowSteps steps, double strength)
      : base_(std::move(base)), steps_(std::move(steps)), strength_(static_cast<float>(strength)) {}
  void add(const Tile& tile, const TileValues& values) const override {
    add_scaled(base_, strength_, tile, values, [&](const Tile& part, const TileValues& own) { steps_.apply(part, own); });
  }

 private:
  Tensor base_;
  RowSteps steps_;
  float strength_;
};

int depth_of(std::span<const PatchRecord> records) {
  int depth = 0;
  for (const PatchRecord& record : records) {
    if (record.value) depth = std::max(depth, record.value->nesting_depth());
  }
  return depth + 1;
}

class Nested final : public PatchValue {
 public:
  Nested(Tensor base, std::optional<WeightFunction> convert, std::vector<PatchRecord> records, std::optional<Fingerprint> identity)
      : PatchValue("nested", {base}, {}, identity),
        base_(std::move(base)),
        convert_(std::move(convert)),
        records_(std::move(records)),
        depth_(depth_of(records_)) {}

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
    Tensor inner = calculate_weight(start, records_, {}, options);  // the outer call names the key
    if (inner.shape() != weight.shape()) check(weight.shape());
    weight.add(std::move(inner), strength, function);
  }

  std::unique_ptr<RowAdder> row_adder(const Shape& weight, double strength) const override {
    if (convert_ || base_.shape() != weight || weight.rank() == 0) return nullptr;
    // Whether strength 0 is skipped depends on the mode, which is not known here.
    if (std::any_of(records_.begin(), records_.end(), [](const PatchRecord& record) { return record.strength_patch == 0; })) return nullptr;
    // Unchecked: values that do not fit have no RowAdder, and then the general way says so.
    std::optional<RowSteps> steps = RowSteps::make(weight, records_, PatchCompat::reference);
    return steps ? std::make_unique<NestedAdder>(base_, std::move(*steps), strength) : nullptr;
  }

  double weight_share() const override { return patch::weight_share(records_); }
  int nesting_depth() const override { return depth_; }

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
  int depth_;
};

}  // namespace

PatchValuePtr make_nested(Tensor base, std::optional<WeightFunction> convert, std::vector<PatchRecord> records, std::optional<Fingerprint> identity) {
  if (depth_of(records) > kMaxNesting) {
    throw Error(ErrorCode::invalid, "nested: too many merges inside of each other", {{"allowed", std::to_string(kMaxNesting)}});
  }
  return std::make_shared<Nested>(std::move(base), std::move(convert), std::move(records), identity);
}

}  // namespace veneer::patch
