// Whatever an adapter's content does to a weight, the error names the file, the tensor, the weight and what is allowed.
#include "patch/blame.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "patch/branch_factors.h"
#include "patch/kinds/values.h"
#include "patch/patched_rows.h"
#include "patch/testing/patch_testing.h"
#include "patch/working_weight.h"

namespace veneer::patch {
namespace {

using namespace testing;  // NOLINT: test helpers of this room

constexpr float kInf = std::numeric_limits<float>::infinity();

// The value that a file "style.safetensors" with these tensors holds for kKey.
PatchValuePtr from_file(Parts parts) {
  KeyMap map;
  map.add("layer", kKey);
  AdapterOptions options;
  options.file_name = "style.safetensors";
  return load_adapter(file_with(parts), map, {}, options).patches.at(kKey);
}

Tensor with(Tensor tensor, size_t at, float value) {
  tensor.mutable_floats()[at] = value;
  return tensor;
}

PatchValuePtr lora(const Tensor& up, const Tensor& down) { return from_file({{".lora_up.weight", up}, {".lora_down.weight", down}}); }

Error error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::internal, "no error"};
}

// What each way to apply a patch says: whole, row by row, and as a branch.
std::vector<Error> errors_of(const Tensor& base, const std::vector<PatchRecord>& records) {
  std::vector<Error> out;
  const CalculateOptions options;
  out.push_back(error_of([&] { calculate_weight(base, records, kKey, options); }));
  out.push_back(error_of([&] {
    const auto rows = PatchedRows::make(base, records, DType::f32, kKey, options);
    Tensor all = Tensor::empty(base.shape(), DType::f32);
    rows.value().tile({0, base.dim(0), 0, base.dim(1)}, {all.mutable_data<float>(), base.dim(1)});
  }));
  const PatchRecord& last = records.back();
  const double scale = last.strength_patch * last.value->low_rank().value().scale;
  out.push_back(error_of([&] { branch_factors(base, *last.value, scale, DType::f32); }));
  return out;
}

TEST(Blame, NamesTheTensorThatIsNotFiniteInEveryWayToApplyIt) {
  const Tensor base = random_tensor({6, 5}, 1), up = random_tensor({6, 2}, 2), down = random_tensor({2, 5}, 3);
  const PatchValuePtr good = lora(up, down);
  for (const float bad : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    const PatchValuePtr value = lora(up, with(down.clone(), 7, bad));
    for (const Error& error : errors_of(base, {record_of(good), record_of(value, 0.5)})) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
      EXPECT_EQ(error.find("file"), "style.safetensors");
      EXPECT_EQ(error.find("tensor"), "layer.lora_down.weight");
      EXPECT_EQ(error.find("element"), "7");
      EXPECT_FALSE(error.find("allowed").empty());
    }
  }
}

TEST(Blame, NamesTheAdapterWhoseFiniteValuesMakeAWeightThatIsNot) {
  const Tensor base = random_tensor({6, 5}, 1), up = random_tensor({6, 2}, 2), down = random_tensor({2, 5}, 3);
  const PatchValuePtr huge = lora(with(up.clone(), 0, 1e30F), with(down.clone(), 0, 1e30F));
  for (const Error& error : errors_of(base, {record_of(lora(up, down)), record_of(huge)})) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_EQ(error.text(), "patch: patched weight is not finite");
    EXPECT_EQ(error.find("file"), "style.safetensors");
    EXPECT_EQ(error.find("tensor"), "layer.lora_down.weight, layer.lora_up.weight");
    EXPECT_EQ(error.find("kind"), "lora");
    EXPECT_EQ(error.find("strength"), "1");
  }
}

// As a difference, and counts how often it is applied.
class CountedValue final : public PatchValue {
 public:
  CountedValue(float value, int& applied) : PatchValue("counted", {}, {static_cast<double>(value)}), value_(value), applied_(applied) {}
  void check(const Shape&) const override {}
  void apply(WorkingWeight& weight, double strength, const WeightFunction* function) const override {
    ++applied_;
    Tensor difference = Tensor::empty(weight.shape(), DType::f32);
    for (float& v : difference.mutable_floats()) v = value_;
    weight.add(std::move(difference), strength, function);
  }

 private:
  float value_;
  int& applied_;
};

TEST(Blame, OfManyRecordsEachIsAppliedOnceMoreAndNotOncePerRecord) {
  constexpr int kRecords = 20;
  int applied = 0;
  std::vector<PatchRecord> records;
  for (int i = 0; i < kRecords; ++i)
    records.push_back(record_of(std::make_shared<CountedValue>(i + 1 == kRecords ? 3e38F : 1.0F, applied), i + 1 == kRecords ? 2 : 1));
  const Error error = error_of([&] { calculate_weight(random_tensor({6, 5}, 1), records, kKey, {}); });
  EXPECT_EQ(error.find("kind"), "counted");
  EXPECT_EQ(error.find("strength"), "2");
  // The weight, the search, and the guilty one alone.
  EXPECT_EQ(applied, 2 * kRecords + 1);
}

TEST(Blame, FindsTheAdapterBehindAMerge) {
  const Tensor base = random_tensor({6, 5}, 1);
  const PatchValuePtr bad = from_file({{".diff", with(random_tensor({6, 5}, 2), 3, kInf)}});
  const PatchValuePtr merged = make_nested(base, std::nullopt, {record_of(bad)});
  const Error error = error_of([&] { patched(base, merged, 0.5); });
  EXPECT_EQ(error.find("tensor"), "layer.diff");
  EXPECT_EQ(error.find("key"), kKey);
}

TEST(Blame, NamesTheFileOfAValueThatDoesNotFit) {
  const Error error = error_of([] { patched(random_tensor({6, 5}, 1), from_file({{".diff", random_tensor({5, 6}, 2)}})); });
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_EQ(error.find("file"), "style.safetensors");
  EXPECT_EQ(error.find("tensor"), "layer.diff");
  EXPECT_EQ(error.find("want"), "[6, 5]");
  EXPECT_EQ(error.find("got"), "[5, 6]");
}

TEST(Blame, ABaseThatIsBrokenItselfIsNobodysFault) {
  const Tensor base = with(random_tensor({6, 5}, 1), 4, kInf);
  EXPECT_NO_THROW(patched(base, lora(random_tensor({6, 2}, 2), random_tensor({2, 5}, 3))));
}

TEST(BranchFactors, AreFloatingWhateverTheFileHolds) {
  Tensor integers = Tensor::empty({6, 2}, DType::i32);
  for (int i = 0; i < 12; ++i) integers.mutable_data<int32_t>()[i] = i - 5;
  const LowRank factors = branch_factors(random_tensor({6, 5}, 1), *lora(integers, random_tensor({2, 5}, 3)), 1, DType::bf16);
  EXPECT_EQ(factors.up.dtype(), DType::f32);
  EXPECT_EQ(factors.up.floats()[0], -5);
  EXPECT_EQ(factors.up.floats()[11], 6);
}

TEST(BranchFactors, LargeFactorsOfAWeightThatStaysFiniteAreTaken) {
  const Tensor up = tensor({1, 1}, {1e25F}), down = tensor({1, 2}, {1e10F, 1e12F});
  EXPECT_NO_THROW(branch_factors(random_tensor({1, 2}, 1), *lora(up, down), 1, DType::f32));
}

}  // namespace
}  // namespace veneer::patch
