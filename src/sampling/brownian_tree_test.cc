#include "sampling/brownian_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sampling/noise.h"
#include "sampling/seed_sequence.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(SeedSequence, MatchesNumpy) {
  EXPECT_THAT(seed_sequence_state(12345, {}, 4, 4), ElementsAre(2688385916U, 3048105090U, 4196366895U, 3152189807U));
  const uint64_t node[] = {5, 3};
  EXPECT_THAT(seed_sequence_state(1234567, node, 24, 4), ElementsAre(537045659U, 2549042006U, 2128592880U, 2624401341U));
  const uint64_t wide[] = {(uint64_t{1} << 33) + 1, 0};
  EXPECT_THAT(seed_sequence_state((uint64_t{1} << 63) + 7, wide, 24, 4), ElementsAre(4046382025U, 1140820737U, 1976597638U, 4194869880U));
}

TEST(BrownianTree, MatchesTorchsde) {
  const auto noise = make_brownian_noise(Shape{1, 4, 3, 2}, 1234567, 0.0292F, 14.6146F);
  EXPECT_NEAR(noise->draw(14.6146F, 7.3F).floats()[1], 2.3766863346F, 2e-6);
  EXPECT_NEAR(noise->draw(7.3F, 3.1F).floats()[1], -2.0190680027F, 2e-6);
  EXPECT_NEAR(noise->draw(0.4F, 0.0292F).floats()[1], 0.5415894389F, 2e-6);
}

TEST(BrownianTree, IncrementsAddUpWhateverTheOrderOfQuestions) {
  const BrownianTree tree(Shape{40}, 5, 0.1, 9.0);
  const Tensor late = tree.increment(3.3, 7.7);
  const Tensor early = tree.increment(0.5, 3.3);
  const Tensor whole = tree.increment(0.5, 7.7);
  for (size_t i = 0; i < 40; ++i) EXPECT_NEAR(early.floats()[i] + late.floats()[i], whole.floats()[i], 1e-5);
}

TEST(BrownianTree, AnswersTheSameAgain) {
  const BrownianTree tree(Shape{20}, 5, 0.1, 9.0);
  const Tensor first = tree.increment(1.0, 2.0);
  tree.increment(0.1, 1.7);
  const Tensor again = tree.increment(1.0, 2.0);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(first.floats()[i], again.floats()[i]);
}

TEST(BrownianTree, IncrementsHaveTheVarianceOfTheirLength) {
  const BrownianTree tree(Shape{20000}, 8, 0.0, 10.0);
  const Tensor increment = tree.increment(2.0, 4.5);
  double square = 0;
  for (const float v : increment.floats()) square += static_cast<double>(v) * v;
  EXPECT_NEAR(square / 20000, 2.5, 0.1);
}

TEST(BrownianTree, ClampsTimesToItsInterval) {
  const BrownianTree tree(Shape{20}, 5, 1.0, 2.0);
  const Tensor inside = tree.increment(1.0, 2.0);
  const Tensor beyond = tree.increment(-3.0, 50.0);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(inside.floats()[i], beyond.floats()[i]);
}

TEST(BrownianTree, GivesZerosForAnEmptyInterval) {
  const BrownianTree tree(Shape{20}, 5, 1.0, 1.0);
  EXPECT_THAT(tree.increment(1.0, 1.0).floats(), Each(0.0F));
  EXPECT_THAT(make_brownian_noise(Shape{20}, 5, 1.0F, 3.0F)->draw(2.0F, 2.0F).floats(), Each(0.0F));
}

TEST(BrownianTree, RefusesIntervalsThatAreNone) {
  EXPECT_THROW(BrownianTree(Shape{2}, 0, 2.0, 1.0), Error);
  EXPECT_THROW(BrownianTree(Shape{2}, 0, 0.0, std::numeric_limits<double>::infinity()), Error);
  EXPECT_THROW(BrownianTree(Shape{2}, 0, std::numeric_limits<double>::quiet_NaN(), 1.0), Error);
}

}  // namespace
}  // namespace veneer::sampling
