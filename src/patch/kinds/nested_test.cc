// Weights of other models inside of patches.
#include <gtest/gtest.h>

#include "patch/kinds/values.h"
#include "patch/testing/patch_testing.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

using namespace testing;  // NOLINT: test helpers of this room

Fingerprint identity(const char* name) { return FingerprintBuilder().add(name).finish(); }

PatchValuePtr low_rank(const Shape& shape, uint32_t seed) {
  return value_from(
      {{".lora_up.weight", random_tensor({shape[0], 2}, seed)}, {".lora_down.weight", random_tensor({2, shape.num_elements_from(1)}, seed + 1)}});
}

TEST(Nested, AnIdentityStandsForTheBytes) {
  const auto value = [](uint32_t seed, const char* name) { return make_nested(random_tensor({4, 3}, seed), std::nullopt, {}, identity(name)); };
  EXPECT_EQ(value(1, "a")->fingerprint(), value(2, "a")->fingerprint());
  EXPECT_NE(value(1, "a")->fingerprint(), value(1, "b")->fingerprint());
  EXPECT_NE(value(1, "a")->fingerprint(), make_nested(random_tensor({4, 3}, 1), std::nullopt, {})->fingerprint());
}

TEST(Nested, RecordsCountBesideTheIdentity) {
  const Tensor base = random_tensor({4, 3}, 1);
  const PatchValuePtr difference = make_diff(random_tensor({4, 3}, 2));
  const auto value = [&](double strength) { return make_nested(base, std::nullopt, {record_of(difference, strength)}, identity("a")); };
  EXPECT_EQ(value(0.5)->fingerprint(), value(0.5)->fingerprint());
  EXPECT_NE(value(0.5)->fingerprint(), value(0.6)->fingerprint());
}

TEST(Nested, OnePassAndTheGeneralWayGiveTheSameBits) {
  // A function forces the general way. 300 x 700 is several blocks of rows.
  for (const Shape& shape : {Shape{300, 700}, Shape{5, 3}, Shape{20, 16, 3, 3}, Shape{7}}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Tensor base = to_dtype(random_tensor(shape, 1), dtype), other = to_dtype(random_tensor(shape, 2), DType::bf16);
      std::vector<PatchRecord> inside = {record_of(make_diff(random_tensor(shape, 3)), 0.7, 1.2)};
      if (shape.rank() > 1) inside.push_back(record_of(low_rank(shape, 4), -0.4));
      PatchRecord record = record_of(make_nested(other, std::nullopt, inside), 0.3, 0.7);
      CalculateOptions options;
      ASSERT_NE(record.value->row_adder(shape, 0.3), nullptr);
      const Tensor streamed = calculate_weight(base, {&record, 1}, kKey, options);
      record.function = WeightFunction{"identity", [](std::span<float>) {}};
      EXPECT_TRUE(same_bits(streamed, calculate_weight(base, {&record, 1}, kKey, options))) << shape.to_string() << " " << to_string(dtype);
    }
  }
}

TEST(Nested, InsideRecordsThatDoNotFitAreAnError) {
  const PatchValuePtr value = make_nested(random_tensor({4, 3}, 1), std::nullopt, {record_of(make_diff(random_tensor({3, 4}, 2)))});
  EXPECT_THROW(patched(random_tensor({4, 3}, 3), value), Error);
}

TEST(Nested, SharesAddUpOverMergesAndDifferences) {
  const Tensor w = random_tensor({4, 3}, 1);
  const PatchValuePtr model = make_nested(w, std::nullopt, {}), adapter = low_rank(w.shape(), 2);
  const std::vector<PatchRecord> merge = {record_of(adapter, 0.8), record_of(model, 0.7, 0.3)};
  EXPECT_DOUBLE_EQ(weight_share(merge), 1);
  const std::vector<PatchRecord> difference = {record_of(adapter, 0.8), record_of(make_nested(w, std::nullopt, merge), -2, 2)};
  EXPECT_DOUBLE_EQ(weight_share(difference), 0);
  const std::vector<PatchRecord> sum = {record_of(make_nested(w, std::nullopt, difference)), record_of(model)};
  EXPECT_DOUBLE_EQ(weight_share(sum), 2);
  EXPECT_DOUBLE_EQ(weight_share({}), 1);
}

TEST(Nested, EndlessNestingIsRefused) {
  const Tensor w = random_tensor({2, 2}, 1);
  std::vector<PatchRecord> records;
  for (int depth = 0; depth < kMaxNesting; ++depth) records = {record_of(make_nested(w, std::nullopt, records), 0.5, 0.5)};
  EXPECT_NO_THROW(calculate_weight(w, records, kKey, {}));
  EXPECT_THROW(make_nested(w, std::nullopt, records), Error);
}

}  // namespace
}  // namespace veneer::patch
