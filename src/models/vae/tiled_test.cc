#include "models/vae/tiled.h"

#include <gmock/gmock.h>

#include "models/testing/test_models.h"
#include "models/vae/inpaint.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

using compute::random_tensor;

class TiledVaeTest : public ::testing::Test {
 protected:
  TiledVaeTest()
      : vae(testing::tiny_vae_config()),
        view(testing::variant_of(testing::base_of(vae.architecture(), testing::test_weights(vae.architecture(), 5))).open_view()) {}

  Vae vae;
  std::unique_ptr<variant::ModelView> view;
  compute::Context context;
};

TEST_F(TiledVaeTest, WhatFitsIntoOneTileIsDoneWhole) {
  const Tensor latent = random_tensor(Shape({2, 4, 4, 5}), 1);
  EXPECT_LT(compute::max_error(decode_tiled(vae, *view, context, latent, {16, 16, 4}), vae.decode(*view, context, latent)), 1e-6);
  const Tensor image = random_tensor(Shape({1, 9, 10, 3}), 1, 0.3F, 0.5F);
  EXPECT_LT(compute::max_error(encode_tiled(vae, *view, context, image, {32, 32, 8}), vae.encode(*view, context, image)), 1e-6);
}

TEST_F(TiledVaeTest, TilesCoverThePicture) {
  const Tensor image = decode_tiled(vae, *view, context, random_tensor(Shape({1, 4, 11, 7}), 1), {4, 4, 1});
  ASSERT_EQ(image.shape(), Shape({1, 22, 14, 3}));
  EXPECT_THAT(image.floats(), ::testing::Each(::testing::AllOf(::testing::Ge(0.0F), ::testing::Le(1.0F))));
}

TEST_F(TiledVaeTest, OverlapsAreBlended) {
  // Tiles see less than the whole picture, so their results differ from it, more so without an overlap.
  const Tensor latent = random_tensor(Shape({1, 4, 24, 24}), 1);
  const Tensor whole = vae.decode(*view, context, latent);
  const auto mean_error = [&](int64_t overlap) {
    const Tensor tiled = decode_tiled(vae, *view, context, latent, {16, 16, overlap});
    double sum = 0;
    for (size_t i = 0; i < whole.floats().size(); ++i) sum += static_cast<double>(std::abs(tiled.floats()[i] - whole.floats()[i]));
    return sum / static_cast<double>(whole.floats().size());
  };
  EXPECT_GT(mean_error(0), 0);
  EXPECT_LT(mean_error(6), mean_error(0));
}

TEST_F(TiledVaeTest, LatentsThatNoTileCoversAreNotANumber) {
  // Tiles of 11 pixels give 5 latents, the next one begins 11 pixels on.
  const Tensor latent = encode_tiled(vae, *view, context, random_tensor(Shape({1, 44, 8, 3}), 1, 0.3F, 0.5F), {16, 11, 0});
  ASSERT_EQ(latent.shape(), Shape({1, 4, 22, 4}));
  EXPECT_TRUE(std::isnan(latent.floats()[5 * 4]));
  EXPECT_FALSE(std::isnan(latent.floats()[0]));
}

TEST_F(TiledVaeTest, RefusesTilesNotLargerThanTheirOverlap) {
  const Tensor latent = random_tensor(Shape({1, 4, 11, 7}), 1);
  for (const TileSize& tile :
       {TileSize{4, 4, 4}, TileSize{4, 4, 2}, TileSize{0, 4, 0}, TileSize{4, 4, -1}, TileSize{1, 1, 0}, TileSize{int64_t{1} << 62, 4, 1}}) {
    EXPECT_THROW(decode_tiled(vae, *view, context, latent, tile), Error) << tile.x << " " << tile.overlap;
  }
}

class InpaintTest : public TiledVaeTest {
 protected:
  // A mask of zeros with one pixel set.
  static Tensor one_pixel(int64_t height, int64_t width, int64_t y, int64_t x) {
    Tensor mask = Tensor::zeros(Shape({height, width}), DType::f32);
    mask.mutable_data<float>()[y * width + x] = 1;
    return mask;
  }
  static std::vector<int64_t> set_pixels(const Tensor& mask) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < mask.num_elements(); ++i) {
      if (mask.floats()[static_cast<size_t>(i)] != 0) out.push_back(i);
    }
    return out;
  }
  Tensor pixels = random_tensor(Shape({1, 6, 8, 3}), 1, 0.3F, 0.5F);
};

TEST_F(InpaintTest, GrowsTheMaskByASquare) {
  const auto grown = [&](int grow) { return set_pixels(encode_for_inpaint(vae, *view, context, pixels, one_pixel(6, 8, 2, 3), grow).noise_mask); };
  EXPECT_THAT(grown(0), ::testing::ElementsAre(19));
  EXPECT_THAT(grown(1), ::testing::ElementsAre(19));
  EXPECT_THAT(grown(3), ::testing::ElementsAre(10, 11, 12, 18, 19, 20, 26, 27, 28));
  // An even square reaches one further down and to the right.
  EXPECT_THAT(grown(2), ::testing::ElementsAre(19, 20, 27, 28));
  EXPECT_EQ(grown(100).size(), 48U);
}

TEST_F(InpaintTest, WhatIsUnderTheMaskDoesNotMatter) {
  Tensor mask = Tensor::zeros(Shape({6, 8}), DType::f32);
  for (int i = 10; i < 20; ++i) mask.mutable_data<float>()[i] = 1;
  Tensor other = pixels.clone();
  for (int i = 10 * 3; i < 20 * 3; ++i) other.mutable_data<float>()[i] = 0.1F;
  const InpaintLatent a = encode_for_inpaint(vae, *view, context, pixels, mask, 0);
  const InpaintLatent b = encode_for_inpaint(vae, *view, context, other, mask, 0);
  EXPECT_EQ(compute::max_error(a.samples, b.samples), 0);
  EXPECT_GT(compute::max_error(a.samples, vae.encode(*view, context, pixels)), 1e-4);
}

TEST_F(InpaintTest, StretchesTheMaskToThePicture) {
  Tensor mask = Tensor::zeros(Shape({1, 3, 4}), DType::f32);
  mask.mutable_data<float>()[0] = 1;
  // Twice as large, pixel centres aligned: weights 1, 0.75, 0.25 from the corner on; above one half after rounding where both are at least 0.75.
  EXPECT_THAT(set_pixels(encode_for_inpaint(vae, *view, context, pixels, mask, 0).noise_mask), ::testing::ElementsAre(0, 1, 8, 9));
}

TEST_F(InpaintTest, RefusesMasksThatDoNotFit) {
  for (const Tensor& bad : {Tensor(), Tensor::zeros(Shape({2, 6, 8}), DType::f32), Tensor::zeros(Shape({1, 0, 8}), DType::f32),
                            Tensor::zeros(Shape({6, 8}), DType::u8)}) {
    EXPECT_THROW(encode_for_inpaint(vae, *view, context, pixels, bad, 0), Error);
  }
  EXPECT_THROW(encode_for_inpaint(vae, *view, context, pixels, one_pixel(6, 8, 0, 0), -1), Error);
}

}  // namespace
}  // namespace veneer::models
