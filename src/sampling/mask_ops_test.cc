#include "sampling/mask_ops.h"

#include <gmock/gmock.h>

#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Tensor mask_of(const Shape& shape, std::initializer_list<float> v) { return Tensor::from(shape, std::vector<float>(v)); }

TEST(MaskOps, AnyLeadingDimensionsBecomeRows) {
  EXPECT_EQ(mask_as_batch(counting(Shape{2, 3, 4, 5})).shape(), (Shape{6, 4, 5}));
  EXPECT_EQ(mask_as_batch(counting(Shape{4, 5})).shape(), (Shape{1, 4, 5}));
}

TEST(MaskOps, RefusesWhatIsNoMask) {
  EXPECT_THROW(mask_as_batch(Tensor()), Error);
  EXPECT_THROW(mask_as_batch(counting(Shape{4})), Error);
  EXPECT_THROW(mask_as_batch(counting(Shape{0, 4, 4})), Error);
}

TEST(MaskOps, ReshapeGoesOverChannelsAndRepeatsRows) {
  const Tensor out = reshape_mask(mask_of(Shape{2, 1, 2}, {0, 1, 2, 3}), Shape{3, 2, 1, 2});
  EXPECT_THAT(values(out), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1));
}

TEST(MaskOps, ReshapeCutsRowsThatAreTooMany) {
  EXPECT_THAT(values(reshape_mask(mask_of(Shape{2, 1, 2}, {0, 1, 2, 3}), Shape{1, 1, 1, 2})), ElementsAre(0, 1));
}

TEST(MaskOps, BoundsOfOnePixelAndOfNothing) {
  Tensor mask = filled(Shape{2, 4, 5}, 0);
  EXPECT_EQ(mask_bounds(mask), Box{});
  mask.mutable_data<float>()[20 + 2 * 5 + 3] = -0.1F;
  EXPECT_EQ(mask_bounds(mask), (Box{2, 3, 1, 1}));
}

TEST(MaskOps, GrowsWithCornersOrWithout) {
  Tensor mask = filled(Shape{1, 3, 3}, 0);
  mask.mutable_data<float>()[4] = 1;
  EXPECT_THAT(values(grow_mask(mask, 1, false)), Each(1));
  EXPECT_THAT(values(grow_mask(mask, 1, true)), ElementsAre(0, 1, 0, 1, 1, 1, 0, 1, 0));
  EXPECT_THAT(values(grow_mask(grow_mask(mask, 1, true), -1, true)), ElementsAre(0, 0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_EQ(values(grow_mask(mask, 0, true)), values(mask));
}

TEST(MaskOps, GrowingByAnyNumberEnds) {
  Tensor mask = filled(Shape{1, 2, 2}, 0);
  mask.mutable_data<float>()[0] = 1;
  EXPECT_THAT(values(grow_mask(mask, INT64_MAX, true)), Each(1));
  EXPECT_THAT(values(grow_mask(mask, INT64_MIN, true)), Each(0));
}

TEST(MaskOps, FeatherRisesToOne) {
  EXPECT_THAT(values(feather_mask(filled(Shape{1, 1, 6}, 1), {.left = 2, .right = 4})), ElementsAre(0.5, 1, 1, 0.75, 0.5, 0.25));
  EXPECT_THAT(values(feather_mask(filled(Shape{1, 2, 1}, 1), {.top = 99})), ElementsAre(0.5, 1));
}

TEST(MaskOps, CombinesWhereTheSourceLies) {
  const Tensor to = filled(Shape{1, 1, 3}, 0.75F);
  const Tensor from = mask_of(Shape{1, 1, 2}, {0.5, 1});
  EXPECT_THAT(values(combine_masks(to, from, 2, 0, MaskOperation::multiply)), ElementsAre(0.75, 0.75, 0.375));
  EXPECT_THAT(values(combine_masks(to, from, 0, 0, MaskOperation::add)), ElementsAre(1, 1, 0.75));
  EXPECT_THAT(values(combine_masks(to, from, 0, 0, MaskOperation::subtract)), ElementsAre(0.25, 0, 0.75));
  EXPECT_THAT(values(combine_masks(to, from, 0, 0, MaskOperation::logical_and)), ElementsAre(0, 1, 0.75));
  EXPECT_THAT(values(combine_masks(to, from, 0, 0, MaskOperation::logical_xor)), ElementsAre(1, 0, 0.75));
  EXPECT_EQ(values(combine_masks(to, from, 9, 9, MaskOperation::add)), values(to));
  EXPECT_THROW(combine_masks(to, from, -1, 0, MaskOperation::add), Error);
}

TEST(MaskOps, ThresholdIsStrict) { EXPECT_THAT(values(threshold_mask(mask_of(Shape{1, 3}, {0.4F, 0.5F, 0.6F}), 0.5F)), ElementsAre(0, 0, 1)); }

TEST(MaskOps, FindsAColour) {
  const Tensor image = Tensor::from(Shape{1, 1, 2, 3}, std::vector<float>{1, 0, 0, 1, 0, 0.1F});
  EXPECT_THAT(values(color_to_mask(image, 0xFF0000)), ElementsAre(1, 0));
  EXPECT_THAT(values(image_to_mask(image, 2)), ElementsAre(0, 0.1F));
  EXPECT_THROW(image_to_mask(image, 3), Error);
}

}  // namespace
}  // namespace veneer::sampling
