#include "nodes/options/perturbed_attention.h"

#include <gmock/gmock.h>

#include "nodes/options/options_overlay.h"
#include "sampling/guidance.h"
#include "sampling/test_network.h"

namespace veneer::nodes {
namespace {

using sampling::values;
using ::testing::Each;
using ::testing::FloatNear;
using ::testing::SizeIs;

const Shape kLatent{1, 2, 3, 3};

class PerturbedAttention : public ::testing::Test {
 protected:
  // The painter paints 0.25 where the middle block's self-attention gives back its values.
  std::vector<float> denoise(double guidance) {
    sampling::GuidanceOptions options;
    options.post_cfg.push_back(perturbed_attention_guidance(guidance));
    const sampling::Network network = [&](sampling::NetworkInput input) {
      calls_.push_back(input);
      if (const auto* overlay = dynamic_cast<const OptionsOverlay*>(input.overlay)) {
        const variant::QKV qkv{sampling::filled(Shape{1, 2, 3}, 1), sampling::filled(Shape{1, 2, 3}, 2), sampling::counting(Shape{1, 2, 3})};
        const auto& replacement = overlay->added().attn1_replace.at({"middle", 0, -1});
        if (values(replacement.fn(qkv, {})) == values(qkv.v)) input.context = sampling::filled(input.context.shape(), 0.25F);
      }
      return sampling::painter()(input);
    };
    sampling::CfgDenoiser d({.model_sampling = model_sampling_, .network = network, .options = options, .scale = 3}, {sampling::paint(1)},
                            {sampling::paint(0.5F)}, kLatent);
    return values(d.denoise(sampling::counting(kLatent), 1.5F));
  }

  sampling::ModelSampling model_sampling_ = sampling::ModelSampling::discrete(sampling::Prediction::eps);
  std::vector<sampling::NetworkInput> calls_;
};

TEST_F(PerturbedAttention, GoesAwayFromThePerturbedPrediction) {
  EXPECT_THAT(denoise(2), Each(FloatNear(0.5F + 0.5F * 3 + (1 - 0.25F) * 2, 1e-4F)));
  ASSERT_THAT(calls_, SizeIs(2));
  EXPECT_EQ(calls_[0].overlay, nullptr);
  EXPECT_THAT(calls_[1].cond_or_uncond, SizeIs(1));
}

TEST_F(PerturbedAttention, EvaluatesNothingMoreAtScaleZero) {
  EXPECT_THAT(denoise(0), Each(FloatNear(2, 1e-4F)));
  EXPECT_THAT(calls_, SizeIs(1));
}

TEST_F(PerturbedAttention, IsAnotherForAnotherScale) {
  EXPECT_EQ(perturbed_attention_guidance(3).id, perturbed_attention_guidance(3).id);
  EXPECT_NE(perturbed_attention_guidance(3).id, perturbed_attention_guidance(2).id);
}

TEST(OptionsOverlay, AddsToListsAndReplacesAtEqualPositions) {
  const auto named = [](const char* name) { return FingerprintBuilder().add(name).finish(); };
  variant::TransformerOptions base;
  variant::TransformerOptions added;
  base.attn1_patch.push_back({named("base"), {}});
  added.attn1_patch.push_back({named("added"), {}});
  base.attn1_replace[{"middle", 0, 0}] = {named("base"), {}};
  base.attn1_replace[{"output", 1, 0}] = {named("base"), {}};
  added.attn1_replace[{"output", 1, 0}] = {named("added"), {}};
  added.emb_patch.push_back({named("added"), {}});
  const variant::TransformerOptions both = merged(base, added);
  ASSERT_THAT(both.attn1_patch, SizeIs(2));
  EXPECT_EQ(both.attn1_patch[1].id, named("added"));
  EXPECT_THAT(both.emb_patch, SizeIs(1));
  EXPECT_EQ(both.attn1_replace.at({"middle", 0, 0}).id, named("base"));
  EXPECT_EQ(both.attn1_replace.at({"output", 1, 0}).id, named("added"));
}

}  // namespace
}  // namespace veneer::nodes
