// Each kind against a slow computation of its formula, and what all kinds have in common.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "patch/cayley.h"
#include "patch/kinds/file_kinds.h"
#include "patch/kinds/values.h"
#include "patch/testing/patch_testing.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

using namespace testing;  // NOLINT: test helpers of this room

struct Sample {
  const char* name;
  PatchValuePtr value;
  Shape shape;
};

// One of every kind, all for linear or convolution weights of 12 rows.
std::vector<Sample> samples() {
  const Shape linear = {12, 8}, conv = {12, 8, 3, 3};
  auto r = [seed = 100U](const Shape& shape) mutable { return random_tensor(shape, ++seed); };
  return {
      {"lora", value_from({{".lora_up.weight", r({12, 2})}, {".lora_down.weight", r({2, 8})}, {".alpha", scalar_tensor(1)}}), linear},
      {"lora conv", value_from({{".lora_up.weight", r({12, 2, 1, 1})}, {".lora_down.weight", r({2, 8, 3, 3})}}), conv},
      {"lora mid", value_from({{".lora_up.weight", r({12, 2, 1, 1})}, {".lora_down.weight", r({2, 8, 1, 1})}, {".lora_mid.weight", r({2, 2, 3, 3})}}),
       conv},
      {"dora", value_from({{".lora_up.weight", r({12, 2})}, {".lora_down.weight", r({2, 8})}, {".dora_scale", r({12, 1})}}), linear},
      {"loha", value_from({{".hada_w1_a", r({12, 2})}, {".hada_w1_b", r({2, 8})}, {".hada_w2_a", r({12, 2})}, {".hada_w2_b", r({2, 8})}}), linear},
      {"lokr", value_from({{".lokr_w1", r({4, 2})}, {".lokr_w2_a", r({3, 2})}, {".lokr_w2_b", r({2, 4})}, {".alpha", scalar_tensor(1)}}), linear},
      {"lokr tucker", value_from({{".lokr_w1", r({4, 2})}, {".lokr_w2_a", r({2, 3})}, {".lokr_w2_b", r({2, 4})}, {".lokr_t2", r({2, 2, 3, 3})}}),
       conv},
      {"glora", value_from({{".a1.weight", r({8, 2})}, {".a2.weight", r({2, 8})}, {".b1.weight", r({12, 2})}, {".b2.weight", r({2, 8})}}), linear},
      {"oft", value_from({{".oft_blocks", r({3, 4, 4})}, {".rescale", r({12, 1})}}), linear},
      {"boft", value_from({{".oft_blocks", r({2, 4, 4, 4})}}), Shape{16, 8}},
      {"diff", make_diff(r(linear)), linear},
      {"model_as_lora", make_model_as_lora(r(linear), r(linear)), linear},
      {"nested", make_nested(r(linear), std::nullopt, {record_of(make_diff(r(linear)), 0.3, 2)}), linear},
  };
}

TEST(PatchKinds, EverySampleParsesAndFits) {
  for (const Sample& s : samples()) {
    ASSERT_NE(s.value, nullptr) << s.name;
    EXPECT_NO_THROW(s.value->check(s.shape)) << s.name;
  }
}

TEST(PatchKinds, StrengthZeroIsTheBaseToTheBit) {
  for (const Sample& s : samples()) {
    const Tensor base = random_tensor(s.shape, 1);
    EXPECT_TRUE(same_bits(patched(base, s.value, 0), base)) << s.name;
  }
}

TEST(PatchKinds, TheEffectIsLinearInTheStrength) {
  for (const Sample& s : samples()) {
    const Tensor base = random_tensor(s.shape, 1);
    const Tensor difference = sum_of(patched(base, s.value, 1), base, -1);
    for (const double strength : {0.5, -1.0, 2.0}) {
      SCOPED_TRACE(s.name);
      expect_near(patched(base, s.value, strength), sum_of(base, difference, static_cast<float>(strength)), 2e-5F);
    }
  }
}

TEST(PatchKinds, AWeightOfAnotherShapeIsAnErrorThatNamesKeyWantAndGot) {
  for (const Sample& s : samples()) {
    for (const Shape& shape : {Shape{13, 8}, Shape{8, 12}, Shape{12, 8, 3}, Shape{12}, Shape{}}) {
      // A rotation of rows fits every weight that has as many.
      const bool rotation = s.value->kind() == "oft" || s.value->kind() == "boft";
      if (shape == s.shape || (rotation && shape.rank() > 0 && shape[0] == s.shape[0])) continue;
      try {
        patched(random_tensor(shape, 1), s.value);
        ADD_FAILURE() << s.name << " took " << shape.to_string();
      } catch (const Error& error) {
        EXPECT_EQ(error.find("key"), kKey) << s.name;
        EXPECT_FALSE(error.find("want").empty()) << s.name;
        EXPECT_FALSE(error.find("got").empty()) << s.name;
      }
    }
  }
}

TEST(PatchKinds, ReferenceModeLeavesAWeightThatDoesNotFitAndSaysSo) {
  for (const Sample& s : samples()) {
    const Tensor base = random_tensor({13, 7}, 1);
    std::vector<std::string> skipped;
    CalculateOptions options;
    options.compat = PatchCompat::reference;
    options.skipped = &skipped;
    const std::vector<PatchRecord> records = {record_of(s.value)};
    EXPECT_TRUE(same_bits(calculate_weight(base, records, kKey, options), base)) << s.name;
    EXPECT_EQ(skipped.size(), 1U) << s.name;
  }
}

TEST(PatchKinds, FingerprintsFollowTheContent) {
  const auto a = samples(), b = samples();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].value->fingerprint(), b[i].value->fingerprint()) << a[i].name;
    EXPECT_GT(a[i].value->size_bytes(), 0U);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(a[i].value->fingerprint(), b[j].value->fingerprint()) << a[i].name << " " << a[j].name;
  }
}

TEST(PatchKinds, TheListHasUniqueNamesAndEveryKindIsInTheSamples) {
  std::set<std::string_view> names, used;
  for (const FileKind& kind : file_kinds()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
  for (const Sample& s : samples()) used.insert(s.value->kind());
  for (const char* kind : {"lora", "loha", "lokr", "glora", "oft", "boft", "diff"}) EXPECT_TRUE(used.contains(kind)) << kind;
}

TEST(Lora, IsTheScaledProductOfItsFactors) {
  const Tensor base = random_tensor({6, 5}, 1), up = random_tensor({6, 2}, 2), down = random_tensor({2, 5}, 3);
  const PatchValuePtr value = value_from({{".lora_up.weight", up}, {".lora_down.weight", down}, {".alpha", scalar_tensor(3)}});
  expect_near(patched(base, value, 0.8), sum_of(base, slow_product(up, down), 0.8F * 1.5F), 1e-6F);
}

TEST(Lora, MidIsContractedWithDownAtEachPosition) {
  const Tensor up = random_tensor({3, 2, 1, 1}, 2), down = random_tensor({2, 4, 1, 1}, 3), mid = random_tensor({2, 2, 3, 3}, 4);
  Tensor want = Tensor::zeros({3, 4, 3, 3}, DType::f32);
  for (size_t o = 0; o < 3; ++o) {
    for (size_t in = 0; in < 4; ++in) {
      for (size_t k = 0; k < 9; ++k) {
        double sum = 0;
        for (size_t a = 0; a < 2; ++a) {
          for (size_t b = 0; b < 2; ++b) {
            sum += static_cast<double>(up.floats()[o * 2 + a]) * static_cast<double>(mid.floats()[(a * 2 + b) * 9 + k]) *
                   static_cast<double>(down.floats()[b * 4 + in]);
          }
        }
        want.mutable_floats()[(o * 4 + in) * 9 + k] = static_cast<float>(sum);
      }
    }
  }
  const PatchValuePtr value = value_from({{".lora_up.weight", up}, {".lora_down.weight", down}, {".lora_mid.weight", mid}});
  expect_near(patched(Tensor::zeros({3, 4, 3, 3}, DType::f32), value), want, 1e-6F);
}

TEST(Lora, ReshapeGrowsTheWeightWithZeros) {
  Tensor extents = Tensor::empty({2}, DType::i64);
  extents.mutable_data<int64_t>()[0] = 3;
  extents.mutable_data<int64_t>()[1] = 4;
  const PatchValuePtr value =
      value_from({{".lora_up.weight", tensor({3, 1}, {1, 1, 1})}, {".lora_down.weight", tensor({1, 4}, {1, 1, 1, 1})}, {".reshape_weight", extents}});
  const Tensor base = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_near(patched(base, value), tensor({3, 4}, {2, 3, 4, 1, 5, 6, 7, 1, 1, 1, 1, 1}), 0);
  const std::vector<PatchRecord> records = {record_of(value)};
  EXPECT_EQ(patched_shape(base.shape(), records), Shape({3, 4}));
  EXPECT_TRUE(same_bits(patched(base, value, 0), base));
}

TEST(Lora, GivesItsFactorsForASideBranchOnlyWhenTheyAreAll) {
  const auto all = samples();
  ASSERT_TRUE(all[0].value->low_rank().has_value());
  EXPECT_EQ(all[0].value->low_rank()->scale, 0.5);
  EXPECT_EQ(all[1].value->low_rank()->up.shape(), Shape({12, 2}));
  for (const size_t i : {2U, 3U, 4U, 5U, 7U, 8U}) EXPECT_FALSE(all[i].value->low_rank().has_value()) << all[i].name;
}

TEST(Oft, RotatesWithoutChangingTheLengthOfColumns) {
  const Tensor base = random_tensor({8, 3}, 1);
  const Tensor got = patched(base, value_from({{".oft_blocks", random_tensor({2, 4, 4}, 2)}}));
  EXPECT_FALSE(same_bits(got, base));
  for (size_t column = 0; column < 3; ++column) {
    double before = 0, after = 0;
    for (size_t row = 0; row < 8; ++row) {
      before += std::pow(static_cast<double>(base.floats()[row * 3 + column]), 2);
      after += std::pow(static_cast<double>(got.floats()[row * 3 + column]), 2);
    }
    EXPECT_NEAR(before, after, 1e-5);
  }
}

TEST(Oft, RescaleMultipliesTheRotatedRows) {
  const Tensor base = random_tensor({8, 3}, 1), blocks = random_tensor({2, 4, 4}, 2);
  Tensor want = patched(base, value_from({{".oft_blocks", blocks}}));
  for (size_t i = 0; i < 24; ++i) want.mutable_floats()[i] *= i / 3 == 5 ? 3.0F : 1.0F;
  const Tensor rescale = tensor({8, 1}, {1, 1, 1, 1, 1, 3, 1, 1});
  expect_near(patched(base, value_from({{".oft_blocks", blocks}, {".rescale", rescale}})), want, 1e-6F);
}

TEST(Oft, TheReferenceSquaresTheStrength) {
  const Tensor base = random_tensor({8, 3}, 1);
  const PatchValuePtr value = value_from({{".oft_blocks", random_tensor({2, 4, 4}, 2)}});
  const Tensor difference = sum_of(patched(base, value), base, -1);
  expect_near(patched(base, value, 0.5, PatchCompat::reference), sum_of(base, difference, 0.25F), 1e-6F);
  expect_near(patched(base, value, 0.5), sum_of(base, difference, 0.5F), 1e-6F);
}

TEST(Oft, AlphaLimitsTheNormToAlphaTimesTheRows) {
  const Tensor blocks = random_tensor({2, 4, 4}, 2), base = random_tensor({8, 3}, 1);
  const Tensor limited = patched(base, value_from({{".oft_blocks", blocks}, {".alpha", scalar_tensor(0.05F)}}));
  const Tensor r = cayley(blocks, 0.05 * 8);
  // Column 0 of the first block by hand: row m is the sum over n of R[n, m] W[n].
  for (size_t m = 0; m < 4; ++m) {
    double sum = 0;
    for (size_t n = 0; n < 4; ++n) sum += static_cast<double>(r.floats()[n * 4 + m]) * static_cast<double>(base.floats()[n * 3]);
    EXPECT_NEAR(static_cast<double>(limited.floats()[m * 3]), sum, 1e-6);
  }
}

TEST(Boft, RotatesWithoutChangingTheLengthOfColumns) {
  const Tensor base = random_tensor({16, 2}, 1);
  const Tensor got = patched(base, value_from({{".oft_blocks", random_tensor({3, 4, 4, 4}, 2)}}));
  for (size_t column = 0; column < 2; ++column) {
    double before = 0, after = 0;
    for (size_t row = 0; row < 16; ++row) {
      before += std::pow(static_cast<double>(base.floats()[row * 2 + column]), 2);
      after += std::pow(static_cast<double>(got.floats()[row * 2 + column]), 2);
    }
    EXPECT_NEAR(before, after, 1e-5);
  }
}

TEST(Boft, StrengthIsLinearAndNotSquared) {
  const Tensor base = random_tensor({16, 2}, 1);
  const PatchValuePtr value = value_from({{".oft_blocks", random_tensor({3, 4, 4, 4}, 2)}});
  const Tensor difference = sum_of(patched(base, value), base, -1);
  for (const double s : {0.5, -1.0, 2.0}) expect_near(patched(base, value, s), sum_of(base, difference, static_cast<float>(s)), 1e-5F);
  EXPECT_TRUE(same_bits(patched(base, value, 0), base));
}

TEST(Boft, RefusesMoreStagesThanTheRowsHaveStrides) {
  const PatchValuePtr value = value_from({{".oft_blocks", random_tensor({4, 4, 4, 4}, 2)}});
  EXPECT_THROW(patched(random_tensor({16, 2}, 1), value), Error);
}

TEST(Diff, PadGrowsTheWeight) {
  const Tensor got = patched(tensor({1, 2}, {1, 2}), make_diff(tensor({2, 3}, {1, 1, 1, 1, 1, 1}), true), 0.5);
  expect_near(got, tensor({2, 3}, {1.5F, 2.5F, 0.5F, 0.5F, 0.5F, 0.5F}), 0);
  EXPECT_THROW(patched(tensor({3, 2}, {1, 2, 3, 4, 5, 6}), make_diff(tensor({2, 3}, {1, 1, 1, 1, 1, 1}), true)), Error);
}

TEST(Set, ReplacesTheWeightAtAnyStrengthButZero) {
  const Tensor base = random_tensor({3, 2}, 1), value = random_tensor({3, 2}, 2);
  for (const double s : {0.3, 1.0, -2.0}) EXPECT_TRUE(same_bits(patched(base, make_set(value), s), value));
  EXPECT_TRUE(same_bits(patched(base, make_set(value), 0), base));
  EXPECT_TRUE(same_bits(patched(base, make_set(value), 0, PatchCompat::reference), value));
}

}  // namespace
}  // namespace veneer::patch
