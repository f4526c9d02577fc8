// DoRA: the vectors are those that users and the format's author agreed on in public discussions of the formula.
#include <gtest/gtest.h>

#include <cmath>

#include "patch/testing/patch_testing.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

using namespace testing;  // NOLINT: test helpers of this room

PatchValuePtr unit_dora(const Tensor& dora_scale) {
  return value_from({{".lora_up.weight", tensor({2, 1}, {1, 0})},
                     {".lora_down.weight", tensor({1, 2}, {1, 1})},
                     {".alpha", scalar_tensor(0.5F)},
                     {".dora_scale", dora_scale}});
}

const Tensor& identity() {
  static const Tensor kIdentity = tensor({2, 2}, {1, 0, 0, 1});
  return kIdentity;
}

TEST(Dora, AlphaIsInsideTheNormAndStrengthOutside) {
  expect_near(patched(identity(), unit_dora(tensor({2, 1}, {1, 1})), 0.5), tensor({2, 2}, {0.97434F, 0.15811F, 0, 1}), 1e-5F);
}

TEST(Dora, NormIsThatOfTheSumByDefault) {
  const Tensor got = patched(identity(), unit_dora(tensor({2, 1}, {1, 1})), 1);
  expect_near(got, tensor({2, 2}, {0.948683F, 0.316228F, 0, 1}), 1e-5F);
}

TEST(Dora, NormIsThatOfTheBaseInReferenceMode) {
  const Tensor got = patched(identity(), unit_dora(tensor({2, 1}, {1, 1})), 0.5, PatchCompat::reference);
  expect_near(got, tensor({2, 2}, {1.25F, 0.25F, 0, 1}), 1e-5F);
}

TEST(Dora, StrengthZeroIsTheBaseToTheBit) { EXPECT_TRUE(same_bits(patched(identity(), unit_dora(tensor({2, 1}, {3, 4})), 0), identity())); }

TEST(Dora, StrengthExtrapolatesLinearly) {
  const PatchValuePtr value = unit_dora(tensor({2, 1}, {1, 1}));
  const Tensor full = patched(identity(), value, 1), difference = sum_of(full, identity(), -1);
  for (const float s : {0.5F, -1.0F, 2.0F}) expect_near(patched(identity(), value, static_cast<double>(s)), sum_of(identity(), difference, s), 1e-6F);
}

TEST(Dora, ASquareWeightTellsRowsFromColumnsByTheShapeOfTheScale) {
  // V = [[1.5, 0.5], [0, 1]]; columns have norms 1.5 and sqrt(1.25).
  const Tensor rows = patched(identity(), unit_dora(tensor({2, 1}, {1, 2})), 1);
  expect_near(rows, tensor({2, 2}, {0.948683F, 0.316228F, 0, 2}), 1e-5F);
  const Tensor columns = patched(identity(), unit_dora(tensor({1, 2}, {1, 2})), 1);
  expect_near(columns, tensor({2, 2}, {1, 0.894427F, 0, 1.788854F}), 1e-5F);
}

TEST(Dora, ConvolutionsTakeTheNormOverAllButOneAxis) {
  const Tensor base = random_tensor({2, 2, 3, 3}, 1), up = random_tensor({2, 1, 1, 1}, 2), down = random_tensor({1, 2, 3, 3}, 3);
  const Tensor sum = sum_of(base, slow_product(up, down).reshape({2, 2, 3, 3}), 1);
  for (const bool rows : {true, false}) {
    const Tensor scale = tensor(rows ? Shape{2, 1, 1, 1} : Shape{1, 2, 1, 1}, {0.7F, 1.9F});
    Tensor want = sum.clone();
    for (int axis = 0; axis < 2; ++axis) {
      double squares = 0;
      const auto in_group = [&](int i) { return (rows ? i / 18 : i / 9 % 2) == axis; };
      for (int i = 0; i < 36; ++i) squares += in_group(i) ? std::pow(static_cast<double>(sum.floats()[static_cast<size_t>(i)]), 2) : 0;
      for (int i = 0; i < 36; ++i) {
        if (in_group(i)) want.mutable_floats()[static_cast<size_t>(i)] *= static_cast<float>((axis == 0 ? 0.7 : 1.9) / std::sqrt(squares));
      }
    }
    expect_near(patched(base, value_from({{".lora_up.weight", up}, {".lora_down.weight", down}, {".dora_scale", scale}})), want, 1e-5F);
  }
}

// PEFT divides by the norm of each output row of W + scaling * B A, and keeps one magnitude per output: [out], for convolutions [1, out, 1, 1].
TEST(Dora, TheMagnitudesOfPeftAreThoseOfOutputRowsWhateverTheirNameAndShape) {
  const Tensor up = tensor({2, 1}, {1, 0}), down = tensor({1, 2}, {0.5F, 0.5F});
  for (const char* name : {".lora_magnitude_vector", ".lora_magnitude_vector.weight"}) {
    for (const Shape& shape : {Shape({2}), Shape({2, 1}), Shape({1, 2})}) {
      const PatchValuePtr value = value_from({{".lora_B.weight", up}, {".lora_A.weight", down}, {name, tensor(shape, {1, 2})}});
      expect_near(patched(identity(), value), tensor({2, 2}, {0.948683F, 0.316228F, 0, 2}), 1e-5F);
      EXPECT_FALSE(value->low_rank().has_value());
    }
  }
  for (const char* name : {".lora_magnitude_vector.default", ".lora_magnitude_vector.default.weight"}) {
    const PatchValuePtr value = value_from({{".lora_B.default.weight", up}, {".lora_A.default.weight", down}, {name, tensor(Shape({2}), {1, 2})}});
    expect_near(patched(identity(), value), tensor({2, 2}, {0.948683F, 0.316228F, 0, 2}), 1e-5F);
  }
}

TEST(Dora, TheMagnitudesOfPeftForAConvolutionAreThoseOfItsKernels) {
  const Tensor base = random_tensor({2, 2, 3, 3}, 1), up = random_tensor({2, 1, 1, 1}, 2), down = random_tensor({1, 2, 3, 3}, 3);
  const PatchValuePtr by_rows =
      value_from({{".lora_up.weight", up}, {".lora_down.weight", down}, {".dora_scale", tensor({2, 1, 1, 1}, {0.7F, 1.9F})}});
  const PatchValuePtr of_peft =
      value_from({{".lora_B.weight", up}, {".lora_A.weight", down}, {".lora_magnitude_vector", tensor({1, 2, 1, 1}, {0.7F, 1.9F})}});
  EXPECT_TRUE(same_bits(patched(base, of_peft), patched(base, by_rows)));
}

TEST(Dora, MagnitudesOfPeftThatAreNotOnePerOutputRowAreAMismatch) {
  KeyMap map;
  map.add("layer", kKey);
  AdapterTensors file = file_with({{".lora_B.weight", random_tensor({4, 1}, 2)}, {".lora_A.weight", random_tensor({1, 6}, 3)}});
  file["layer.lora_magnitude_vector"] = random_tensor(Shape({6}), 4);
  const AdapterReport report = load_adapter(file, map, {});
  EXPECT_TRUE(report.patches.empty());
  ASSERT_EQ(report.mismatched.size(), 1U);
  EXPECT_NE(report.mismatched[0].tensors.find("lora_magnitude_vector"), std::string::npos);
}

TEST(Dora, WhatDoesNotBelongToTheFactorsIsListedAsUnused) {
  KeyMap map;
  map.add("layer", kKey);
  const AdapterTensors file = file_with({{".lora_B.weight", random_tensor({4, 1}, 2)},
                                         {".lora_A.weight", random_tensor({1, 6}, 3)},
                                         {".lora_magnitude_vector", random_tensor(Shape({4}), 4)},
                                         {".lora_bias", random_tensor(Shape({4}), 5)}});
  EXPECT_EQ(load_adapter(file, map, {}).unused_keys, std::vector<std::string>{"layer.lora_bias"});
  // The reference does not know the name.
  EXPECT_EQ(load_adapter(file, map, {}, {PatchCompat::reference}).unused_keys,
            (std::vector<std::string>{"layer.lora_bias", "layer.lora_magnitude_vector"}));
}

TEST(Dora, RefusesMagnitudesThatFitNeitherAxis) {
  const Tensor base = random_tensor({4, 6}, 1);
  for (const Shape& shape : {Shape{5, 1}, Shape{1, 4}, Shape{1, 1}, Shape{2, 3}}) {
    const PatchValuePtr value = value_from(
        {{".lora_up.weight", random_tensor({4, 1}, 2)}, {".lora_down.weight", random_tensor({1, 6}, 3)}, {".dora_scale", random_tensor(shape, 4)}});
    EXPECT_THROW(patched(base, value), Error) << shape.to_string();
  }
}

TEST(Dora, ARowOfZerosStaysFinite) {
  const Tensor base = tensor({2, 2}, {0, 0, 0, 1});
  const PatchValuePtr value = value_from(
      {{".lora_up.weight", tensor({2, 1}, {0, 0})}, {".lora_down.weight", tensor({1, 2}, {1, 1})}, {".dora_scale", tensor({2, 1}, {1, 1})}});
  expect_near(patched(base, value), base, 1e-6F);
}

}  // namespace
}  // namespace veneer::patch
