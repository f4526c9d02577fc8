#include "sampling/cond_batch.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "sampling/test_network.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::SizeIs;

constexpr float kSigma = 2.0F;

PreparedCond cond(float colour, int64_t tokens = 3) {
  PreparedCond out;
  out.context = paint(colour, tokens).context;
  out.sigma_start = 1e9;
  return out;
}

// Clean latents that are the first value of the row's context.
Tensor first_value(const DenoiseBatch& batch) {
  Tensor out = Tensor::empty(batch.x.shape(), DType::f32);
  const int64_t size = out.shape().num_elements_from(1);
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.mutable_data<float>()[i] = batch.context.data<float>()[i / size * batch.context.shape().num_elements_from(1)];
  }
  return out;
}

struct Log {
  std::vector<DenoiseBatch> calls;
  std::function<Tensor(const DenoiseBatch&)> apply() {
    return [this](const DenoiseBatch& batch) {
      calls.push_back(batch);
      return first_value(batch);
    };
  }
};

std::vector<Tensor> evaluate(const std::vector<PreparedCond>& positive, const std::vector<PreparedCond>& negative, const Tensor& x, Log& log) {
  const std::array lists{&positive, &negative};
  return evaluate_conds(lists, x, kSigma, log.apply());
}

TEST(CondBatch, AnInnerAreaFadesAtAllSides) {
  PreparedCond area = cond(1);
  area.area = Box{1, 1, 8, 8};
  area.strength = 2;
  const auto job = make_job(area, 0, Shape{1, 4, 10, 10}, kSigma);
  const float* w = job->weights.data<float>();
  EXPECT_THAT(std::vector<float>(w + 3 * 8, w + 4 * 8), ElementsAre(1, 2, 2, 2, 2, 2, 2, 1));  // 8 / 4 = 2 steps
  EXPECT_EQ(w[0], 0.5F);                                                                       // both axes
}

TEST(CondBatch, SidesAtTheBorderDoNotFade) {
  PreparedCond area = cond(1);
  area.area = Box{0, 2, 99, 8};
  const auto job = make_job(area, 0, Shape{1, 4, 4, 10}, kSigma);
  EXPECT_EQ(job->box, (Box{0, 2, 4, 8}));
  const float* w = job->weights.data<float>();
  EXPECT_THAT(std::vector<float>(w, w + 8), ElementsAre(0.5, 1, 1, 1, 1, 1, 1, 1));
}

TEST(CondBatch, AreasBelowFourElementsHaveNoRamp) {
  PreparedCond area = cond(1);
  area.area = Box{1, 1, 3, 1};
  EXPECT_THAT(values(make_job(area, 0, Shape{1, 4, 9, 9}, kSigma)->weights), Each(1));
}

TEST(CondBatch, AMaskReplacesTheRamp) {
  PreparedCond masked = cond(1);
  masked.area = Box{1, 1, 1, 2};
  masked.mask = counting(Shape{1, 2, 3});
  masked.mask_strength = 0.5F;
  masked.strength = 4;
  EXPECT_THAT(values(make_job(masked, 0, Shape{1, 4, 2, 3}, kSigma)->weights), ElementsAre(8, 10));
}

TEST(CondBatch, TimesAreInclusive) {
  PreparedCond timed = cond(1);
  timed.sigma_start = kSigma;
  timed.sigma_end = 1;
  const Shape latent{1, 1, 1, 1};
  EXPECT_TRUE(make_job(timed, 0, latent, kSigma));
  EXPECT_TRUE(make_job(timed, 0, latent, 1.0F));
  EXPECT_FALSE(make_job(timed, 0, latent, std::nextafter(kSigma, 9.0F)));
  EXPECT_FALSE(make_job(timed, 0, latent, std::nextafter(1.0F, 0.0F)));
}

TEST(CondBatch, BothListsGoIntoOneCallLastFirst) {
  Log log;
  const auto out = evaluate({cond(1), cond(3)}, {cond(-1)}, filled(Shape{2, 1, 2, 2}, 0), log);
  ASSERT_THAT(log.calls, SizeIs(1));
  EXPECT_THAT(log.calls[0].cond_or_uncond, ElementsAre(1, 0, 0));
  EXPECT_THAT(log.calls[0].sigmas, SizeIs(6));
  EXPECT_EQ(log.calls[0].x.shape(), (Shape{6, 1, 2, 2}));
  EXPECT_THAT(values(out[0]), Each(FloatNear(2, 1e-6F)));
  EXPECT_THAT(values(out[1]), Each(FloatNear(-1, 1e-6F)));
}

TEST(CondBatch, TokensAreRepeatedToACommonCount) {
  Log log;
  evaluate({cond(1, 2)}, {cond(2, 3)}, filled(Shape{1, 1, 1, 1}, 0), log);
  ASSERT_THAT(log.calls, SizeIs(1));
  EXPECT_EQ(log.calls[0].context.shape(), (Shape{2, 6, 2}));
  EXPECT_EQ(log.calls[0].context.floats()[11], 2);  // negative first: all its tokens
  EXPECT_EQ(log.calls[0].context.floats()[12], 1);
}

TEST(CondBatch, TokenCountsThatNeedManyRepeatsGetTheirOwnCall) {
  Log log;
  evaluate({cond(1, 2)}, {cond(2, 10)}, filled(Shape{1, 1, 1, 1}, 0), log);  // 10 / 2 = 5
  EXPECT_THAT(log.calls, SizeIs(2));
}

TEST(CondBatch, OtherCropsAndControlsGetTheirOwnCall) {
  PreparedCond area = cond(1);
  area.area = Box{0, 0, 2, 2};
  PreparedCond pooled = cond(1);
  pooled.pooled = filled(Shape{1, 5}, 0);
  Log log;
  evaluate({cond(1), area, pooled}, {cond(2)}, filled(Shape{1, 1, 4, 4}, 0), log);
  ASSERT_THAT(log.calls, SizeIs(3));
  EXPECT_EQ(log.calls[1].x.shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(log.calls[2].pooled.shape(), (Shape{1, 5}));
}

TEST(CondBatch, TheNetworkSeesTheCrop) {
  PreparedCond area = cond(1);
  area.area = Box{1, 1, 1, 2};
  area.extra_channels = counting(Shape{1, 1, 2, 3});
  Log log;
  evaluate({area}, {}, counting(Shape{2, 1, 2, 3}), log);
  EXPECT_THAT(values(log.calls[0].x), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(values(log.calls[0].extra_channels), ElementsAre(4, 5, 4, 5));
}

TEST(CondBatch, NothingCoversGivesZero) {
  PreparedCond area = cond(7);
  area.area = Box{0, 0, 1, 1};
  Log log;
  const auto out = evaluate({area}, {}, filled(Shape{1, 1, 1, 2}, 5), log);
  EXPECT_THAT(values(out[0]), ElementsAre(FloatNear(7, 1e-5F), 0));
  EXPECT_THAT(values(out[1]), Each(0));
}

TEST(CondBatch, WeightsDecideWherePromptsMeet) {
  PreparedCond strong = cond(1);
  strong.strength = 3;
  Log log;
  EXPECT_THAT(values(evaluate({strong, cond(5)}, {}, filled(Shape{1, 2, 1, 1}, 0), log)[0]), Each(FloatNear(2, 1e-6F)));
}

TEST(CondBatch, MaskRowsBelongToRowsOfTheBatchInTurn) {
  PreparedCond masked = cond(1);
  masked.mask = Tensor::from(Shape{2, 1, 1}, std::vector<float>{0, 1});
  Log log;
  EXPECT_THAT(values(evaluate({masked}, {}, filled(Shape{3, 1, 1, 1}, 0), log)[0]), ElementsAre(0, FloatNear(1, 1e-6F), 0));
}

TEST(CondBatch, NaNOfTheNetworkStaysInItsArea) {
  PreparedCond area = cond(NAN);
  area.area = Box{0, 0, 1, 1};
  Log log;
  const auto v = values(evaluate({area, cond(2)}, {}, filled(Shape{1, 1, 1, 2}, 0), log)[0]);
  EXPECT_TRUE(std::isnan(v[0]));
  EXPECT_NEAR(v[1], 2, 1e-6);
}

}  // namespace
}  // namespace veneer::sampling
