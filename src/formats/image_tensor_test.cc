#include "formats/image_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "formats/testing/image_samples.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

ImageBytes row_of(int channels, std::vector<uint8_t> pixels) {
  ImageBytes image = make_image(pixels.size() / static_cast<size_t>(channels), 1, channels, "test");
  image.pixels = std::move(pixels);
  return image;
}

TEST(ImageTensor, DividesBy255) {
  const Tensor tensor = image_tensor(row_of(3, {0, 1, 255, 51, 102, 127}));
  EXPECT_EQ(tensor.shape(), Shape({1, 1, 2, 3}));
  EXPECT_THAT(tensor.floats(), ElementsAre(0.0f, 1.0f / 255.0f, 1.0f, 51.0f / 255.0f, 102.0f / 255.0f, 127.0f / 255.0f));
}

TEST(ImageTensor, RepeatsGrayAndDropsAlpha) {
  EXPECT_THAT(image_tensor(row_of(1, {0, 255})).floats(), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(image_tensor(row_of(4, {0, 255, 0, 7, 255, 0, 255, 9})).floats(), ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(ImageTensor, MaskIsOneWhereThePictureIsTransparent) {
  const Tensor mask = alpha_mask_tensor(row_of(4, {9, 9, 9, 0, 9, 9, 9, 255, 9, 9, 9, 51}));
  EXPECT_EQ(mask.shape(), Shape({1, 1, 3}));
  EXPECT_THAT(mask.floats(), ElementsAre(1.0f, 0.0f, 1.0f - 51.0f / 255.0f));
}

TEST(ImageTensor, MaskIsSmallAndEmptyWithoutAnAlphaChannel) {
  ImageBytes keyed = row_of(4, {9, 9, 9, 0});
  keyed.alpha_from_key = true;
  for (const ImageBytes& image : {row_of(3, {1, 2, 3}), row_of(1, {1}), keyed}) {
    const Tensor mask = alpha_mask_tensor(image);
    EXPECT_EQ(mask.shape(), Shape({1, 64, 64}));
    EXPECT_THAT(mask.floats(), Each(0.0f));
  }
}

TEST(ImageTensor, ChannelMasksFollowTheChannel) {
  const ImageBytes image = row_of(4, {255, 0, 51, 0});
  EXPECT_THAT(channel_mask_tensor(image, ImageChannel::red).floats(), ElementsAre(1.0f));
  EXPECT_THAT(channel_mask_tensor(image, ImageChannel::green).floats(), ElementsAre(0.0f));
  EXPECT_THAT(channel_mask_tensor(image, ImageChannel::blue).floats(), ElementsAre(51.0f / 255.0f));
  EXPECT_THAT(channel_mask_tensor(image, ImageChannel::alpha).floats(), ElementsAre(1.0f));
  EXPECT_THAT(channel_mask_tensor(row_of(1, {255, 0}), ImageChannel::blue).floats(), ElementsAre(1.0f, 0.0f));
  EXPECT_THAT(channel_mask_tensor(row_of(3, {1, 2, 3}), ImageChannel::alpha).floats(), ElementsAre(0.0f));
}

TEST(ImageTensor, ChannelNamesAreChecked) {
  EXPECT_EQ(image_channel_from_string("alpha"), ImageChannel::alpha);
  EXPECT_THROW((void)image_channel_from_string("Alpha"), Error);
}

TEST(ImageTensor, BytesAreClippedAndCut) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const Tensor tensor = Tensor::from({1, 1, 3, 3}, std::vector<float>{0.0f, 1.0f, 0.5f, -3.0f, 2.0f, nan, infinity, -infinity, 0.9999f});
  EXPECT_THAT(image_bytes(tensor, 0).pixels, ElementsAre(0, 255, 127, 0, 255, 0, 255, 0, 254));
}

TEST(ImageTensor, EveryByteSurvivesTheWayThereAndBack) {
  std::vector<uint8_t> all(256 * 3);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i / 3);
  EXPECT_EQ(image_bytes(image_tensor(row_of(3, all)), 0).pixels, all);
}

TEST(ImageTensor, TakesTheRowThatIsAskedFor) {
  const Tensor tensor = Tensor::from({2, 1, 1, 1}, std::vector<float>{0.0f, 1.0f});
  EXPECT_THAT(image_bytes(tensor, 1).pixels, ElementsAre(255));
  EXPECT_EQ(image_bytes(tensor, 1).channels, 1);
}

TEST(ImageTensor, RefusesWhatIsNoImage) {
  const Tensor image = Tensor::zeros({1, 2, 2, 3}, DType::f32);
  EXPECT_THROW((void)image_bytes(image, 1), Error);
  EXPECT_THROW((void)image_bytes(image, -1), Error);
  EXPECT_THROW((void)image_bytes(Tensor(), 0), Error);
  EXPECT_THROW((void)image_bytes(Tensor::zeros({1, 2, 2, 2}, DType::f32), 0), Error);
  EXPECT_THROW((void)image_bytes(Tensor::zeros({2, 2, 3}, DType::f32), 0), Error);
  EXPECT_THROW((void)image_bytes(Tensor::zeros({1, 2, 2, 3}, DType::f16), 0), Error);
  EXPECT_THROW((void)image_bytes(Tensor::zeros({1, 0, 2, 3}, DType::f32), 0), Error);
}

}  // namespace
}  // namespace veneer::formats
