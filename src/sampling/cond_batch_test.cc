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

class NumberedHooks final : public CondHooks {
 public:
  explicit NumberedHooks(uint64_t number) : number_(number) {}
  Fingerprint fingerprint() const override { return {0, number_}; }

 private:
  uint64_t number_;
};

PreparedCond hooked(float colour, uint64_t number) {
  PreparedCond out = cond(colour);
  out.hooks = std::make_shared<NumberedHooks>(number);
  return out;
}

TEST(CondBatch, OnlyPromptsWithEqualHooksShareACall) {
  Log log;
  const auto out = evaluate({hooked(1, 1), cond(5)}, {hooked(2, 1), hooked(3, 2)}, filled(Shape{1, 1, 1, 1}, 0), log);
  ASSERT_THAT(log.calls, SizeIs(3));
  std::vector<uint64_t> hooks;
  std::vector<size_t> chunks;
  for (const DenoiseBatch& call : log.calls) {
    hooks.push_back(call.hooks == nullptr ? 0 : call.hooks->fingerprint().low);
    chunks.push_back(call.cond_or_uncond.size());
  }
  EXPECT_THAT(hooks, ElementsAre(1, 0, 2));
  EXPECT_THAT(chunks, ElementsAre(2, 1, 1));
  EXPECT_THAT(values(out[0]), Each(FloatNear(3, 1e-6F)));
  EXPECT_THAT(values(out[1]), Each(FloatNear(2.5F, 1e-6F)));
}

PreparedCond default_cond(float colour) {
  PreparedCond out = cond(colour);
  out.is_default = true;
  return out;
}

TEST(CondBatch, DefaultsFillWhatTheOthersLeave) {
  PreparedCond masked = cond(1);
  masked.mask = Tensor::from(Shape{1, 1, 4}, std::vector<float>{1, 0.5F, 0, 2});
  Log log;
  const auto v = values(evaluate({default_cond(9), masked}, {}, filled(Shape{1, 1, 1, 4}, 0), log)[0]);
  EXPECT_THAT(v, ElementsAre(FloatNear(1, 1e-6F), FloatNear(5, 1e-5F), FloatNear(9, 1e-5F), FloatNear(1, 1e-6F)));
}

TEST(CondBatch, DefaultsFillAroundAnArea) {
  PreparedCond area = cond(1);
  area.area = Box{0, 1, 1, 2};
  Log log;
  const auto v = values(evaluate({area, default_cond(9)}, {}, filled(Shape{2, 1, 1, 4}, 0), log)[0]);
  EXPECT_THAT(v, ElementsAre(FloatNear(9, 1e-5F), 1, 1, FloatNear(9, 1e-5F), FloatNear(9, 1e-5F), 1, 1, FloatNear(9, 1e-5F)));
}

TEST(CondBatch, SeveralDefaultsShareWhatIsLeft) {
  PreparedCond half = cond(1);
  half.strength = 0.5F;
  Log log;
  // 0.5 of 1, and 0.5 each of 9 and 4, over 1.5
  EXPECT_THAT(values(evaluate({half, default_cond(9), default_cond(4)}, {}, filled(Shape{1, 1, 1, 1}, 0), log)[0]),
              Each(FloatNear(14 / 3.0F, 1e-5F)));
}

TEST(CondBatch, DefaultsOfOneListDoNotFillTheOther) {
  Log log;
  const auto out = evaluate({default_cond(9)}, {cond(2)}, filled(Shape{1, 1, 1, 1}, 0), log);
  EXPECT_THAT(values(out[0]), Each(FloatNear(9, 1e-5F)));
  EXPECT_THAT(values(out[1]), Each(FloatNear(2, 1e-5F)));
}

TEST(CondBatch, DefaultsThatNothingIsLeftForAreNotEvaluated) {
  Log log;
  evaluate({cond(1), default_cond(9)}, {}, filled(Shape{1, 1, 1, 2}, 0), log);
  ASSERT_THAT(log.calls, SizeIs(1));
  EXPECT_THAT(log.calls[0].cond_or_uncond, SizeIs(1));
}

TEST(CondBatch, ADefaultWithAnAreaFillsThereOnly) {
  PreparedCond masked = cond(1);
  masked.mask = Tensor::from(Shape{1, 1, 3}, std::vector<float>{1, 0.5F, 0});
  PreparedCond filler = default_cond(9);
  filler.area = Box{0, 1, 1, 1};
  Log log;
  const auto v = values(evaluate({masked, filler}, {}, filled(Shape{1, 1, 1, 3}, 0), log)[0]);
  EXPECT_THAT(v, ElementsAre(FloatNear(1, 1e-6F), FloatNear(5, 1e-5F), 0));
}

TEST(CondBatch, ADefaultOutsideOfItsTimeFillsNothing) {
  PreparedCond late = default_cond(9);
  late.sigma_start = 1;
  PreparedCond masked = cond(1);
  masked.mask = Tensor::from(Shape{1, 1, 2}, std::vector<float>{1, 0});
  Log log;
  EXPECT_THAT(values(evaluate({masked, late}, {}, filled(Shape{1, 1, 1, 2}, 0), log)[0]), ElementsAre(FloatNear(1, 1e-6F), 0));
}

}  // namespace
}  // namespace veneer::sampling
