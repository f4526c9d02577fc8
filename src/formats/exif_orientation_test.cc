#include "formats/exif_orientation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/testing/image_samples.h"

namespace veneer::formats {
namespace {

using ::testing::ElementsAre;

int orientation_of(const std::string& block) { return exif_orientation(std::as_bytes(std::span(block))); }

// Two rows of three: 1 2 3 / 4 5 6.
ImageBytes turned(int orientation) {
  ImageBytes image = make_image(3, 2, 1, "test");
  for (uint8_t i = 0; i < 6; ++i) image.pixels[i] = static_cast<uint8_t>(i + 1);
  return apply_orientation(std::move(image), orientation);
}

TEST(ExifOrientation, IsReadInBothByteOrdersWithAndWithoutPrefix) {
  for (int value = 1; value <= 8; ++value) {
    EXPECT_EQ(orientation_of(exif_block(value, true)), value);
    EXPECT_EQ(orientation_of(exif_block(value, false)), value);
    EXPECT_EQ(orientation_of(std::string("Exif\0\0", 6) + exif_block(value, false)), value);
  }
}

TEST(ExifOrientation, IsUprightForValuesOutsideOfTheList) {
  EXPECT_EQ(orientation_of(exif_block(0, true)), 1);
  EXPECT_EQ(orientation_of(exif_block(9, true)), 1);
}

TEST(ExifOrientation, IsUprightOrTheSameForABlockCutAnywhere) {
  const std::string block = exif_block(6, false);
  for (size_t length = 0; length < block.size(); ++length) {
    const std::string cut = block.substr(0, length);
    EXPECT_EQ(orientation_of(cut), length < block.size() - 6 ? 1 : 6) << length;
  }
}

TEST(ExifOrientation, StaysInsideForEveryFlippedBit) {
  const std::string block = exif_block(6, true);
  for (size_t bit = 0; bit < 8 * block.size(); ++bit) {
    std::string flipped = block;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const int value = orientation_of(flipped);
    EXPECT_TRUE(value >= 1 && value <= 8) << bit;
  }
}

TEST(ExifOrientation, TurnsPicturesAsItsNumberSays) {
  EXPECT_THAT(turned(1).pixels, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(turned(2).pixels, ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(turned(3).pixels, ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(turned(4).pixels, ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(turned(5).pixels, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(turned(6).pixels, ElementsAre(4, 1, 5, 2, 6, 3));
  EXPECT_THAT(turned(7).pixels, ElementsAre(6, 3, 5, 2, 4, 1));
  EXPECT_THAT(turned(8).pixels, ElementsAre(3, 6, 2, 5, 1, 4));
  EXPECT_EQ(turned(4).width, 3u);
  EXPECT_EQ(turned(5).width, 2u);
  EXPECT_EQ(turned(5).height, 3u);
}

TEST(ExifOrientation, KeepsPixelsOfSeveralChannelsTogether) {
  ImageBytes image = make_image(2, 1, 3, "test");
  image.pixels = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(apply_orientation(image, 2).pixels, ElementsAre(4, 5, 6, 1, 2, 3));
}

}  // namespace
}  // namespace veneer::formats
