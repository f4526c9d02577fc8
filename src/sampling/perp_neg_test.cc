#include "sampling/perp_neg.h"

#include <gmock/gmock.h>

#include "sampling/test_network.h"

namespace veneer::sampling {
namespace {

using ::testing::ElementsAre;

const Shape kShape{1, 1, 1, 2};
Tensor two(float a, float b) { return Tensor::from(kShape, std::vector<float>{a, b}); }

// pos = (3, 0), neg = (5, 2) less empty (1, 1): the part of (5, 2) across (3, 0) is (0, 2).
TEST(PerpNeg, TakesAwayOnlyWhatLiesAcrossThePositive) {
  EXPECT_THAT(values(perp_neg({two(4, 1), two(6, 3), two(1, 1)}, 0.5, 2, PerpScope::row)), ElementsAre(1 + 2 * 3, 1 - 2 * 1));
}

TEST(PerpNeg, IgnoresANegativeAlongThePositive) {
  EXPECT_THAT(values(perp_neg({two(2, 2), two(8, 8), two(0, 0)}, 1, 3, PerpScope::row)), ElementsAre(6, 6));
}

TEST(PerpNeg, IsFiniteWhenThePositiveSaysNothing) {
  EXPECT_THAT(values(perp_neg({two(1, 1), two(2, 3), two(1, 1)}, 1, 2, PerpScope::row)), ElementsAre(1 - 2, 1 - 4));
}

TEST(PerpNeg, ARowIsTheSameAloneAndInABatchUnlessTheBatchIsOneVector) {
  const Shape shape{2, 1, 1, 2};
  const Tensor pos = Tensor::from(shape, std::vector<float>{1, 0, 0, 2});
  const Tensor neg = Tensor::from(shape, std::vector<float>{1, 1, 3, 1});
  const Tensor empty = Tensor::zeros(shape, DType::f32);
  const Tensor both = perp_neg({pos, neg, empty}, 1, 1, PerpScope::row);
  EXPECT_THAT(values(both), ElementsAre(1, -1, -3, 2));
  EXPECT_EQ(values(perp_neg({pos.slice(1, 1), neg.slice(1, 1), empty.slice(1, 1)}, 1, 1, PerpScope::row)), values(both.slice(1, 1)));
  // One vector: along = (1 + 2) / (1 + 4) = 0.6.
  EXPECT_THAT(values(perp_neg({pos, neg, empty}, 1, 1, PerpScope::batch)),
              ElementsAre(1 - 0.4F, -1, -3, ::testing::FloatNear(2 - (1 - 1.2F), 1e-6F)));
}

}  // namespace
}  // namespace veneer::sampling
