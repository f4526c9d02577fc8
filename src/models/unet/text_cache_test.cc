#include "models/unet/text_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/profile.h"
#include "models/testing/test_models.h"

namespace veneer::models {
namespace {

using compute::random_tensor;

// Of the tiny network.
constexpr size_t kTransformerBlocks = 7;

class CachedUnet : public ::testing::Test {
 protected:
  CachedUnet()
      : unet(testing::tiny_unet_config()),
        base(testing::base_of(unet.architecture(), testing::test_weights(unet.architecture(), 5))),
        variant(testing::variant_of(base)) {
    context.profile = &profile;
  }

  Tensor forward(const Tensor& prompt, TextCache* texts, uint64_t weights = 1) {
    UnetCallExtras extras;
    extras.text_cache = texts;
    extras.weights = {weights, 0};
    const auto view = variant.open_view();
    return unet.forward(*view, context, x, timesteps, prompt, extras);
  }
  // Matrix products of the last forward.
  size_t products() {
    size_t count = 0;
    for (const ProfileEvent& event : profile.take()) count += event.name == "linear" ? 1 : 0;
    return count;
  }
  static bool same(const Tensor& a, const Tensor& b) {
    return a.size_bytes() == b.size_bytes() && std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0;
  }

  Unet unet;
  std::shared_ptr<const variant::BaseModel> base;
  variant::ModelPatcher variant;
  Profile profile;
  compute::Context context;
  TextCache cache;
  Tensor x = random_tensor(Shape({2, 4, 6, 5}), 1);
  std::vector<float> timesteps = {999.0F, 12.5F};
  Tensor text = random_tensor(Shape({2, 7, 24}), 2);
};

TEST_F(CachedUnet, GivesTheSameBitsWithTwoProductsLessForEachCrossAttention) {
  const Tensor want = forward(text, nullptr);
  const size_t all = products();
  EXPECT_TRUE(same(forward(text, &cache), want));
  EXPECT_EQ(products(), all);
  // Another tensor of the same values, as every step brings.
  EXPECT_TRUE(same(forward(text.clone(), &cache), want));
  EXPECT_EQ(products(), all - 2 * kTransformerBlocks);
  EXPECT_EQ(cache.texts(), 1U);
}

TEST_F(CachedUnet, KeepsTextsApart) {
  const Tensor other = random_tensor(Shape({2, 9, 24}), 3);
  const Tensor want = forward(text, nullptr), want_other = forward(other, nullptr);
  for (int step = 0; step < 2; ++step) {
    EXPECT_TRUE(same(forward(text, &cache), want));
    EXPECT_TRUE(same(forward(other, &cache), want_other));
  }
  EXPECT_EQ(cache.texts(), 2U);
}

TEST_F(CachedUnet, KeepsVariantsApart) {
  forward(text, &cache, 1);
  products();
  forward(text, &cache, 2);
  const size_t other = products();
  forward(text, &cache, 1);
  EXPECT_EQ(products(), other - 2 * kTransformerBlocks);
  EXPECT_EQ(cache.texts(), 2U);
}

TEST_F(CachedUnet, WhatPatchesMakeOfTheTextIsNotKept) {
  variant::TransformerOptions options;
  float factor = 1;
  options.attn2_patch = {{{}, [&](const variant::AttentionInputs& in, const variant::PatchCall&) {
                            variant::AttentionInputs out = in;
                            out.context = in.context.clone();
                            for (float& value : out.context.mutable_floats()) value *= factor;
                            return out;
                          }}};
  variant.set_transformer_options(std::move(options));
  const Tensor first = forward(text, &cache);
  factor = 2;
  const Tensor want = forward(text, nullptr);
  EXPECT_FALSE(same(first, want));
  EXPECT_TRUE(same(forward(text, &cache), want));
  EXPECT_EQ(cache.size_bytes(), 0U);
}

TEST(TextCache, LetsTheTextGoThatWasNotUsedForLongest) {
  TextCache cache;
  const auto begin = [&](int i) { cache.begin({}, DType::f32, random_tensor(Shape({1, 1, 4}), static_cast<uint32_t>(i + 1))); };
  const Tensor made = Tensor::zeros({1, 1, 4}, DType::f32);
  const auto count = static_cast<int>(TextCache::kMostTexts);
  for (int i = 0; i < count; ++i) {
    begin(i);
    cache.put(3, {made, made});
  }
  begin(0);
  begin(count);
  EXPECT_EQ(cache.texts(), TextCache::kMostTexts);
  EXPECT_EQ(cache.size_bytes(), (TextCache::kMostTexts - 1) * 2 * made.size_bytes());
  begin(0);
  EXPECT_NE(cache.find(3), nullptr);
  begin(1);
  EXPECT_EQ(cache.find(3), nullptr);
}

TEST(TextCache, KeepsNothingThatIsTooLarge) {
  TextCache cache;
  cache.begin({}, DType::f32, Tensor::zeros({1, 1, 4}, DType::f32));
  const auto owner = std::make_shared<int>(0);
  // Never read: the tensor's memory is not there.
  const Tensor large = Tensor::view({int64_t{TextCache::kMostBytes / 4}}, DType::f32, owner.get(), owner);
  cache.put(3, {large, large});
  EXPECT_EQ(cache.find(3), nullptr);
  EXPECT_EQ(cache.size_bytes(), 0U);
}

}  // namespace
}  // namespace veneer::models
