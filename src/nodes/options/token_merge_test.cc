#include "nodes/options/token_merge.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compute/test_data.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

using compute::random_tensor;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

std::vector<float> values(const Tensor& tensor) { return {tensor.floats().begin(), tensor.floats().end()}; }

double cosine(const Tensor& tokens, int64_t picture, int64_t a, int64_t b) {
  const int64_t channels = tokens.dim(2);
  const float* from = tokens.data<float>() + picture * tokens.dim(1) * channels;
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (int64_t c = 0; c < channels; ++c) {
    const double x = static_cast<double>(from[a * channels + c]);
    const double y = static_cast<double>(from[b * channels + c]);
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / std::sqrt(aa * bb);
}

TEST(TokenMerge, KeepsOneDrawnTokenOfEachSquare) {
  sampling::TorchGenerator random(4);
  sampling::TorchGenerator expected(4);
  const auto match = TokenMerge::match(random_tensor(Shape{1, 5 * 6, 3}, 1), 5, 6, 7, random);  // the last row is in no square
  std::vector<int64_t> staying;
  for (int64_t y = 0; y < 4; y += 2) {
    for (int64_t x = 0; x < 6; x += 2) {
      const int64_t choice = expected.random_u32() % 4;
      staying.push_back((y + choice / 2) * 6 + x + choice % 2);
    }
  }
  EXPECT_THAT(match->staying(), UnorderedElementsAreArray(staying));
  EXPECT_TRUE(std::ranges::is_sorted(match->staying()));
}

// Against the definition, in double: every token that does not stay has a best one among those that do; the most like are merged.
TEST(TokenMerge, MergesTheMostAlikeIntoWhatTheyAreLike) {
  constexpr int64_t kHeight = 6;
  constexpr int64_t kWidth = 8;
  const Tensor tokens = random_tensor(Shape{2, kHeight * kWidth, 5}, 3);
  sampling::TorchGenerator random(9);
  const auto match = TokenMerge::match(tokens, kHeight, kWidth, 14, random);
  const std::set<int64_t> staying(match->staying().begin(), match->staying().end());
  ASSERT_THAT(match->rows(), SizeIs(2));
  for (int64_t n = 0; n < 2; ++n) {
    const TokenMerge::Row& row = match->rows()[static_cast<size_t>(n)];
    std::vector<std::pair<double, int64_t>> best;  // minus the likeness, and who
    std::map<int64_t, int64_t> into;
    for (int64_t t = 0; t < kHeight * kWidth; ++t) {
      if (staying.contains(t)) continue;
      const auto most = std::ranges::max_element(match->staying(), {}, [&](int64_t s) { return cosine(tokens, n, t, s); });
      best.emplace_back(-cosine(tokens, n, t, *most), t);
      into[t] = *most;
    }
    std::ranges::sort(best);
    ASSERT_THAT(row.merged, SizeIs(14));
    ASSERT_THAT(row.alone, SizeIs(best.size() - 14));
    for (size_t i = 0; i < 14; ++i) {
      EXPECT_EQ(row.merged[i], best[i].second);
      EXPECT_EQ(match->staying()[static_cast<size_t>(row.into[i])], into[row.merged[i]]);
    }
  }
}

TEST(TokenMerge, MergedTokensAreMeansAndComeBackToAllTheirPlaces) {
  // One square; what stays is drawn. All point the same way, so all that is merged goes into it.
  const Tensor tokens = Tensor::from(Shape{1, 4, 1}, std::vector<float>{1, 2, 4, 9});
  sampling::TorchGenerator random(1);
  const auto all = TokenMerge::match(tokens, 2, 2, 4, random);
  EXPECT_THAT(values(all->merge(tokens)), ElementsAre(4));
  EXPECT_THAT(values(all->unmerge(all->merge(tokens))), ElementsAre(4, 4, 4, 4));

  const auto one = TokenMerge::match(tokens, 2, 2, 1, random);
  const TokenMerge::Row& row = one->rows().front();
  const Tensor merged = one->merge(tokens);
  ASSERT_EQ(merged.shape(), Shape({1, 3, 1}));
  const float mean = (tokens.floats()[static_cast<size_t>(row.merged[0])] + tokens.floats()[static_cast<size_t>(one->staying()[0])]) / 2;
  EXPECT_EQ(merged.floats()[2], mean);
  const std::vector<float> back = values(one->unmerge(merged));
  EXPECT_EQ(back[static_cast<size_t>(row.merged[0])], mean);
  EXPECT_EQ(back[static_cast<size_t>(one->staying()[0])], mean);
  for (const int64_t alone : row.alone) EXPECT_EQ(back[static_cast<size_t>(alone)], tokens.floats()[static_cast<size_t>(alone)]);
}

TEST(TokenMerge, HasNothingToDoForNoTokensAndThinPictures) {
  sampling::TorchGenerator random(1);
  EXPECT_FALSE(TokenMerge::match(random_tensor(Shape{1, 8, 2}, 1), 2, 4, 0, random));
  EXPECT_FALSE(TokenMerge::match(random_tensor(Shape{1, 8, 2}, 1), 1, 8, 4, random));
  EXPECT_FALSE(TokenMerge::match(random_tensor(Shape{1, 8, 2}, 1), 8, 1, 4, random));
  EXPECT_EQ(random.random_u32(), sampling::TorchGenerator(1).random_u32());  // no draw
}

TEST(TokenMerge, TakesTokensThatAreZeroOrNoNumbers) {
  Tensor tokens = Tensor::zeros(Shape{1, 16, 2}, DType::f32);
  tokens.mutable_floats()[3] = std::nanf("");
  tokens.mutable_floats()[9] = INFINITY;
  sampling::TorchGenerator random(1);
  const auto match = TokenMerge::match(tokens, 4, 4, 6, random);
  EXPECT_EQ(match->unmerge(match->merge(tokens)).shape(), tokens.shape());
}

TEST(TokenMerge, RefusesToUndoWhatHasOtherTokens) {
  const Tensor tokens = random_tensor(Shape{1, 16, 2}, 1);
  sampling::TorchGenerator random(1);
  const auto match = TokenMerge::match(tokens, 4, 4, 6, random);
  EXPECT_THROW(match->unmerge(tokens), Error);
  EXPECT_THROW(match->unmerge(random_tensor(Shape{2, 10, 2}, 1)), Error);
}

class MergeTokens : public ::testing::Test {
 protected:
  MergeTokens() {
    call_.latent_height = call_.height = 8;
    call_.latent_width = call_.width = 8;
    call_.run = &run_;
  }
  variant::AttentionInputs before(double ratio) { return merge_tokens(ratio).before.fn({n_, n_, n_}, call_); }

  sampling::RunState run_;
  variant::PatchCall call_;
  Tensor n_ = random_tensor(Shape{2, 64, 3}, 2);
};

TEST_F(MergeTokens, MergesQueriesOnlyAndUndoesIt) {
  const variant::AttentionInputs inputs = before(0.3);
  EXPECT_EQ(inputs.n.shape(), Shape({2, 64 - 19, 3}));
  EXPECT_EQ(values(inputs.context), values(n_));
  EXPECT_EQ(values(inputs.value), values(n_));
  EXPECT_EQ(merge_tokens(0.3).after.fn(inputs.n, call_).shape(), n_.shape());
  EXPECT_EQ(before(1).n.dim(1), 16);  // those that stay
}

TEST_F(MergeTokens, KeepsToTheFullResolution) {
  call_.latent_height = call_.latent_width = 16;
  const variant::AttentionInputs inputs = before(0.5);
  EXPECT_EQ(values(inputs.n), values(n_));
  EXPECT_EQ(values(merge_tokens(0.5).after.fn(n_, call_)), values(n_));
}

TEST_F(MergeTokens, TwoOfThemNest) {
  const AttentionPatchPair outer = merge_tokens(0.5);
  const AttentionPatchPair inner = merge_tokens(0.25);
  variant::AttentionInputs inputs = outer.before.fn({n_, n_, n_}, call_);
  inputs = inner.before.fn(inputs, call_);  // the tokens are no longer a picture
  EXPECT_EQ(inputs.n.dim(1), 32);
  const Tensor out = inner.after.fn(outer.after.fn(inputs.n, call_), call_);
  EXPECT_EQ(out.shape(), n_.shape());
}

TEST_F(MergeTokens, TakesChancesFromTheRun) {
  const auto first = values(before(0.5).n);
  EXPECT_NE(values(before(0.5).n), first);
  run_ = {};
  EXPECT_EQ(values(before(0.5).n), first);
  call_.run = nullptr;
  EXPECT_EQ(values(before(0.5).n), values(before(0.5).n));
}

TEST_F(MergeTokens, AreOthersForAnotherRatio) {
  EXPECT_EQ(merge_tokens(0.3).before.id, merge_tokens(0.3).before.id);
  EXPECT_NE(merge_tokens(0.3).before.id, merge_tokens(0.4).before.id);
  EXPECT_NE(merge_tokens(0.3).after.id, merge_tokens(0.4).after.id);
}

}  // namespace
}  // namespace veneer::nodes
