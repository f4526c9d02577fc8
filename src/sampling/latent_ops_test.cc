#include "sampling/latent_ops.h"

#include <gmock/gmock.h>

#include <cmath>

#include "sampling/composite.h"
#include "sampling/latent_batch.h"
#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Latent latent(Tensor samples) { return Latent{.samples = std::move(samples)}; }

TEST(LatentOps, RotatesClockwise) {
  const Latent in = latent(counting(Shape{1, 1, 2, 3}));  // 0 1 2 / 3 4 5
  EXPECT_THAT(values(rotate_latent(in, 1).samples), ElementsAre(3, 0, 4, 1, 5, 2));
  EXPECT_THAT(values(rotate_latent(in, 2).samples), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(values(rotate_latent(in, 3).samples), ElementsAre(2, 5, 1, 4, 0, 3));
  EXPECT_EQ(values(rotate_latent(rotate_latent(in, 1), 3).samples), values(in.samples));
  EXPECT_THROW(rotate_latent(in, 4), Error);
}

TEST(LatentOps, Flips) {
  const Latent in = latent(counting(Shape{1, 1, 2, 2}));
  EXPECT_THAT(values(flip_latent(in, FlipAxis::x).samples), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(values(flip_latent(in, FlipAxis::y).samples), ElementsAre(1, 0, 3, 2));
}

TEST(LatentOps, CropKeepsEightElementsInside) {
  const Latent in = latent(counting(Shape{1, 1, 10, 10}));
  const Tensor out = crop_latent(in, Box{9, 9, 20, 3}).samples;
  EXPECT_EQ(out.shape(), (Shape{1, 1, 8, 3}));
  EXPECT_EQ(out.floats()[0], 22);
  EXPECT_EQ(crop_latent(latent(counting(Shape{1, 1, 3, 3})), Box{2, 2, 8, 8}).samples.shape(), (Shape{1, 1, 3, 3}));
  EXPECT_THROW(crop_latent(in, Box{-1, 0, 8, 8}), Error);
}

TEST(LatentOps, SumsFitTheSecondToTheFirst) {
  const Latent first = latent(filled(Shape{2, 1, 2, 2}, 1));
  const Latent second = latent(filled(Shape{1, 1, 4, 4}, 3));
  EXPECT_THAT(values(add_latents(first, second).samples), Each(4));
  EXPECT_THAT(values(subtract_latents(first, second).samples), Each(-2));
  EXPECT_THAT(values(multiply_latent(first, 2.5F).samples), Each(2.5F));
  EXPECT_THAT(values(blend_latents(first, second, 0.75F).samples), Each(1.5F));
  EXPECT_THROW(add_latents(first, latent(filled(Shape{1, 2, 2, 2}, 0))), Error);
}

TEST(LatentOps, InterpolationKeepsLengths) {
  const Latent a = latent(Tensor::from(Shape{1, 2, 1, 2}, std::vector<float>{3, 0, 0, 0}));  // (3, 0) and the zero vector
  const Latent b = latent(Tensor::from(Shape{1, 2, 1, 2}, std::vector<float>{0, 0, 1, 2}));  // (0, 1) and (0, 2)
  const auto v = values(interpolate_latents(a, b, 0.5F).samples);
  EXPECT_NEAR(std::hypot(v[0], v[2]), 2.0, 1e-6);
  EXPECT_NEAR(v[0], v[2], 1e-6);
  EXPECT_NEAR(v[3], 1.0, 1e-6);  // the other's direction, half its length
}

TEST(LatentOps, ScalingRefusesFactorsThatAreNone) {
  for (const double factor : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_THROW(scale_latent(latent(counting(Shape{1, 1, 2, 2})), factor, ResampleMethod::area), Error);
}

TEST(LatentBatch, ARowRemembersItsNumber) {
  const Latent in = latent(counting(Shape{4, 1, 1, 1}));
  const Latent part = latent_from_batch(in, 1, 2);
  EXPECT_THAT(values(part.samples), ElementsAre(1, 2));
  EXPECT_THAT(part.batch_index, ElementsAre(1, 2));
  EXPECT_THAT(latent_from_batch(part, 1, 9).batch_index, ElementsAre(2));
  EXPECT_THAT(latent_from_batch(in, 99, 1).batch_index, ElementsAre(3));
}

TEST(LatentBatch, RepetitionsGoOnWithNewNumbers) {
  Latent in = latent(counting(Shape{2, 1, 1, 1}));
  EXPECT_THAT(repeat_latent_batch(in, 2).batch_index, IsEmpty());
  in.batch_index = {4, 7};
  EXPECT_THAT(repeat_latent_batch(in, 3).batch_index, ElementsAre(4, 7, 8, 11, 12, 15));
  EXPECT_THAT(values(repeat_latent_batch(in, 2).samples), ElementsAre(0, 1, 0, 1));
  EXPECT_THROW(repeat_latent_batch(in, 0), Error);
}

TEST(LatentBatch, MasksFollowTheirRows) {
  Latent in = latent(counting(Shape{3, 1, 1, 1}));
  in.noise_mask = counting(Shape{2, 1, 1, 1});  // rows 0, 1, 0
  EXPECT_THAT(values(latent_from_batch(in, 1, 2).noise_mask), ElementsAre(1, 0));
  EXPECT_THAT(values(repeat_latent_batch(in, 2).noise_mask), ElementsAre(0, 1, 0, 0, 1, 0));
  in.noise_mask = counting(Shape{1, 1, 1, 1});
  EXPECT_EQ(latent_from_batch(in, 1, 2).noise_mask.shape(), (Shape{1, 1, 1, 1}));
}

TEST(LatentBatch, JoiningNumbersBothParts) {
  Latent a = latent(filled(Shape{2, 1, 2, 2}, 1));
  const Latent b = latent(filled(Shape{1, 1, 4, 4}, 3));
  const Latent out = join_latents(a, b);
  EXPECT_EQ(out.samples.shape(), (Shape{3, 1, 2, 2}));
  EXPECT_THAT(out.batch_index, ElementsAre(0, 1, 0));
  EXPECT_THROW(join_latents(a, latent(filled(Shape{1, 2, 2, 2}, 3))), Error);
}

TEST(LatentBatch, AMaskBecomesANoiseMask) {
  EXPECT_EQ(set_noise_mask(latent(counting(Shape{1, 1, 1, 1})), counting(Shape{2, 5, 6})).noise_mask.shape(), (Shape{2, 1, 5, 6}));
}

TEST(Composite, CutsAtTheBorder) {
  const Tensor to = filled(Shape{1, 1, 2, 3}, 0);
  const Tensor from = filled(Shape{1, 1, 2, 2}, 1);
  EXPECT_THAT(values(composite(to, from, 2, 1, 0)), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_THAT(values(composite(to, from, 7, 0, 2)), Each(0));
  EXPECT_THROW(composite(to, from, -1, 0, 0), Error);
}

TEST(Composite, FeathersOnlyInnerSides) {
  const Tensor to = filled(Shape{1, 1, 1, 8}, 0);
  EXPECT_THAT(values(composite(to, filled(Shape{1, 1, 1, 4}, 1), 0, 0, 2)), ElementsAre(1, 1, 1, 0.5, 0, 0, 0, 0));
  EXPECT_THAT(values(composite(to, filled(Shape{1, 1, 1, 4}, 1), 4, 0, 2)), ElementsAre(0, 0, 0, 0, 0.5, 1, 1, 1));
}

TEST(Composite, AMaskDecidesAndNegativePositionsCut) {
  const Tensor to = filled(Shape{2, 1, 1, 3}, 0);
  const Tensor from = counting(Shape{1, 1, 1, 3});
  const Tensor mask = Tensor::from(Shape{1, 1, 3}, std::vector<float>{1, 0, 0.5});
  EXPECT_THAT(values(composite_masked(to, from, mask, {})), ElementsAre(0, 0, 1, 0, 0, 1));
  EXPECT_THAT(values(composite_masked(to, from, Tensor(), {.x = -1})), ElementsAre(1, 2, 0, 1, 2, 0));
  EXPECT_THAT(values(composite_masked(to, from, Tensor(), {.x = INT64_MIN, .y = INT64_MAX})), Each(0));
  EXPECT_THROW(composite_masked(to, filled(Shape{1, 2, 1, 1}, 0), Tensor(), {}), Error);
}

}  // namespace
}  // namespace veneer::sampling
