#include "patch/calculate_weight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "patch/kinds/values.h"
#include "patch/testing/patch_testing.h"
#include "tensor/stochastic_rounding.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

using namespace testing;  // NOLINT: test helpers of this room

Tensor calculate(const Tensor& base, const std::vector<PatchRecord>& records, CalculateOptions options = {}) {
  return calculate_weight(base, records, kKey, options);
}

PatchValuePtr small_lora(const Shape& shape, uint32_t seed) {
  return value_from({{".lora_up.weight", random_tensor({shape[0], 3}, seed)},
                     {".lora_down.weight", random_tensor({3, shape.num_elements_from(1)}, seed + 1)},
                     {".alpha", scalar_tensor(2)}});
}

WeightFunction identity_function() {
  return {"identity", [](std::span<float>) {}};
}

TEST(CalculateWeight, NoRecordsGiveTheBaseInItsOwnBytes) {
  const Tensor base = to_dtype(random_tensor({3, 4}, 1), DType::f16);
  const Tensor result = calculate(base, {});
  EXPECT_TRUE(same_bits(result, base));
  EXPECT_NE(result.bytes(), base.bytes());
}

TEST(CalculateWeight, NeverWritesTheBase) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn}) {
    const Tensor base = to_dtype(random_tensor({40, 30}, 1), dtype), before = base.clone();
    (void)calculate(base, {record_of(small_lora(base.shape(), 2), 0.7, 0.5), record_of(make_set(random_tensor({40, 30}, 3)))});
    EXPECT_TRUE(same_bits(base, before));
  }
}

TEST(CalculateWeight, RecordsApplyInOrder) {
  const Tensor base = tensor({1, 2}, {1, 2}), d = tensor({1, 2}, {10, 20});
  // ((W * 0.5) + 1 * d) * 2 + 0.5 * d
  expect_near(calculate(base, {record_of(make_diff(d), 1, 0.5), record_of(make_diff(d), 0.5, 2)}), tensor({1, 2}, {26, 52}), 0);
}

TEST(CalculateWeight, OnePassAndTheGeneralWayGiveTheSameBits) {
  // A function forces the general way. 300 x 700 is several blocks of rows.
  for (const Shape& shape : {Shape{300, 700}, Shape{5, 3}, Shape{20, 16, 3, 3}}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Tensor base = to_dtype(random_tensor(shape, 1), dtype);
      std::vector<PatchRecord> records = {record_of(small_lora(shape, 2), 0.8, 1.3),
                                          record_of(make_diff(to_dtype(random_tensor(shape, 4), DType::f16)), -0.3),
                                          record_of(small_lora(shape, 5), 0, 0.9)};
      const Tensor streamed = calculate(base, records);
      for (PatchRecord& record : records) record.function = identity_function();
      EXPECT_TRUE(same_bits(streamed, calculate(base, records))) << shape.to_string() << " " << to_string(dtype);
    }
  }
}

TEST(CalculateWeight, AnOffsetTouchesItsSliceOnly) {
  const Tensor base = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  PatchRecord record = record_of(make_diff(tensor({2, 1}, {10, 20})), 1, 2);
  record.offset = Offset{1, 1, 1};
  expect_near(calculate(base, {record}), tensor({2, 3}, {1, 14, 3, 4, 30, 6}), 0);
  record.value = make_diff(tensor({1, 3}, {1, 1, 1}));
  record.offset = Offset{0, 1, 1};
  expect_near(calculate(base, {record}), tensor({2, 3}, {1, 2, 3, 9, 11, 13}), 0);
}

TEST(CalculateWeight, RefusesAnOffsetThatLeavesTheWeight) {
  const Tensor base = random_tensor({4, 4}, 1);
  for (const Offset& offset :
       {Offset{0, 3, 2}, Offset{2, 0, 1}, Offset{-1, 0, 1}, Offset{0, -1, 2}, Offset{1, 0, INT64_MAX}, Offset{0, INT64_MAX, 1}}) {
    PatchRecord record = record_of(make_diff(random_tensor({2, 4}, 2)));
    record.offset = offset;
    EXPECT_THROW(calculate(base, {record}), Error);
  }
}

TEST(CalculateWeight, AFunctionActsOnTheScaledDifference) {
  PatchRecord record = record_of(make_diff(tensor({1, 2}, {3, -3})), 2);
  record.function = WeightFunction{"clamp", [](std::span<float> v) {
                                     for (float& x : v) x = std::clamp(x, -1.0F, 4.0F);
                                   }};
  expect_near(calculate(tensor({1, 2}, {0, 0}), {record}), tensor({1, 2}, {4, -1}), 0);
}

TEST(CalculateWeight, APatchWithAnOffsetCannotGrowTheWeight) {
  PatchRecord record = record_of(make_diff(random_tensor({3, 4}, 2), true));
  record.offset = Offset{0, 0, 2};
  EXPECT_THROW(calculate(random_tensor({4, 4}, 1), {record}), Error);
}

TEST(CalculateWeight, RoundsOnceToTheBasesDtype) {
  const Tensor base = to_dtype(random_tensor({20, 20}, 1), DType::bf16);
  const std::vector<PatchRecord> records = {record_of(small_lora(base.shape(), 2), 0.5), record_of(small_lora(base.shape(), 4), 0.5)};
  CalculateOptions exact;
  exact.result = DType::f32;
  EXPECT_TRUE(same_bits(calculate(base, records), to_dtype(calculate(base, records, exact), DType::bf16)));
}

TEST(CalculateWeight, Fp8KeepsASmallDifferenceOnAverage) {
  const Tensor base = to_dtype(tensor({64, 64}, std::vector<float>(4096, 1.0F)), DType::f8_e4m3fn);
  const std::vector<PatchRecord> records = {record_of(make_diff(tensor({64, 64}, std::vector<float>(4096, 0.05F))))};
  const Tensor result = calculate(base, records);
  ASSERT_EQ(result.dtype(), DType::f8_e4m3fn);
  double sum = 0;
  const Tensor values = to_dtype(result, DType::f32);
  for (const float v : values.floats()) sum += static_cast<double>(v);
  EXPECT_NEAR(sum / 4096, 1.05, 0.005);
  EXPECT_TRUE(same_bits(result, calculate(base, records)));
  CalculateOptions seeded;
  seeded.rounding_seed = string_to_seed(kKey);
  EXPECT_TRUE(same_bits(result, calculate(base, records, seeded)));
}

TEST(CalculateWeight, ScaledFp8AddsTheDifferenceToTheScaledWeight) {
  const Tensor base = to_dtype(tensor({1, 1}, {256}), DType::f8_e4m3fn);
  const std::vector<PatchRecord> records = {record_of(make_diff(tensor({1, 1}, {0.1F})))};
  CalculateOptions options;
  options.base_scale = 0.001F;
  options.result = DType::f32;
  EXPECT_NEAR(calculate(base, records, options).floats()[0], 0.356F, 1e-6F);
  options.result.reset();
  const float stored = to_dtype(calculate(base, records, options), DType::f32).floats()[0];
  EXPECT_TRUE(stored == 352.0F || stored == 384.0F) << stored;
}

TEST(CalculateWeight, AFinitePatchThatBreaksAFiniteWeightIsAnError) {
  const Tensor base = random_tensor({2, 2}, 1);
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {inf, std::nanf(""), 3e38F}) {
    const std::vector<PatchRecord> records = {record_of(make_diff(tensor({2, 2}, {0, bad, 0, 0})), 2)};
    EXPECT_THROW(calculate(base, records), Error) << bad;
  }
  // Too large for the stored type only.
  EXPECT_THROW(calculate(to_dtype(base, DType::f16), {record_of(make_diff(tensor({2, 2}, {0, 7e4F, 0, 0})))}), Error);
  EXPECT_NO_THROW(calculate(to_dtype(base, DType::bf16), {record_of(make_diff(tensor({2, 2}, {0, 7e4F, 0, 0})))}));
  // A base that is broken already is not the patch's doing.
  EXPECT_NO_THROW(calculate(tensor({2, 2}, {inf, 0, 0, 0}), {record_of(make_diff(random_tensor({2, 2}, 3)))}));
}

TEST(CalculateWeight, RefusesStrengthsThatAreNoNumbers) {
  const Tensor base = random_tensor({2, 2}, 1);
  EXPECT_THROW(calculate(base, {record_of(make_diff(base), std::nan(""))}), Error);
  EXPECT_THROW(calculate(base, {record_of(make_diff(base), 1, std::numeric_limits<double>::infinity())}), Error);
}

TEST(CalculateWeight, RefusesIntegerWeightsAndOddWorkingTypes) {
  EXPECT_THROW(calculate(Tensor::zeros({2}, DType::i64), {record_of(make_diff(random_tensor({2}, 1)))}), Error);
  CalculateOptions options;
  options.working = DType::f8_e5m2;
  EXPECT_THROW(calculate(random_tensor({2}, 1), {record_of(make_diff(random_tensor({2}, 1)))}, options), Error);
}

TEST(CalculateWeight, BiasesAndNormsOfOneDimensionTakeDifferences) {
  expect_near(calculate(tensor({3}, {1, 2, 3}), {record_of(make_diff(tensor({3}, {1, 1, 1})), 0.5)}), tensor({3}, {1.5F, 2.5F, 3.5F}), 0);
}

TEST(PatchCompat, NamesBothModesAndRefusesOthers) {
  EXPECT_EQ(patch_compat_from_string("standard"), PatchCompat::standard);
  EXPECT_EQ(patch_compat_from_string("reference"), PatchCompat::reference);
  EXPECT_THROW(patch_compat_from_string("comfy"), Error);
}

}  // namespace
}  // namespace veneer::patch
