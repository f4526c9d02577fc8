#include "formats/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <webp/encode.h>
// jpeglib.h needs FILE declared before it.
#include <cstdio>
//
#include <jpeglib.h>

#include <cmath>
#include <functional>

#include "formats/png.h"
#include "formats/testing/image_samples.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

struct JpegOptions {
  J_COLOR_SPACE space = JCS_RGB;
  bool progressive = false;
  bool adobe = false;
  std::string exif = {};  // a TIFF block, or none
};

std::string jpeg_file(const ImageBytes& image, const JpegOptions& options = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &data, &size);
  jpeg.image_width = image.width;
  jpeg.image_height = image.height;
  jpeg.input_components = image.channels;
  jpeg.in_color_space = options.space;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg.write_Adobe_marker = options.adobe ? TRUE : FALSE;
  jpeg_start_compress(&jpeg, TRUE);
  const std::string exif = std::string("Exif\0\0", 6) + options.exif;
  if (!options.exif.empty())
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()), static_cast<unsigned>(exif.size()));
  for (size_t y = 0; y < image.height; ++y) {
    auto* row = const_cast<JSAMPLE*>(&image.pixels[y * image.width * static_cast<size_t>(image.channels)]);
    (void)jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string out(reinterpret_cast<const char*>(data), size);
  jpeg_destroy_compress(&jpeg);
  std::free(data);
  return out;
}

std::string webp_file(const ImageBytes& image, bool lossless) {
  const int width = static_cast<int>(image.width), height = static_cast<int>(image.height), stride = width * image.channels;
  uint8_t* data = nullptr;
  size_t size = 0;
  if (lossless) {
    size = (image.channels == 4 ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB)(image.pixels.data(), width, height, stride, &data);
  } else {
    size = (image.channels == 4 ? WebPEncodeRGBA : WebPEncodeRGB)(image.pixels.data(), width, height, stride, 90, &data);
  }
  std::string out(reinterpret_cast<const char*>(data), size);
  WebPFree(data);
  return out;
}

std::string png_text(const ImageBytes& image) {
  const std::vector<std::byte> bytes = encode_png(image);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// From a block of exactly this size, so that AddressSanitizer sees a read past the end.
ImageBytes decode(const std::string& file) {
  const std::vector<char> copy(file.begin(), file.end());
  return decode_image(std::as_bytes(std::span(copy)), "test.image");
}

int largest_difference(const ImageBytes& a, const ImageBytes& b) {
  if (a.width != b.width || a.height != b.height || a.channels != b.channels) return 1000;
  int largest = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

TEST(ImageFile, IsKnownByItsContent) {
  const TempDirectory dir;
  const ImageBytes image = sample_image(16, 8, 3);
  EXPECT_EQ(read_image(dir.write("a.jpg", png_text(image))).pixels, image.pixels);
  EXPECT_EQ(read_image(dir.write("b.png", webp_file(image, true))).pixels, image.pixels);
  EXPECT_LE(largest_difference(read_image(dir.write("c", jpeg_file(image))), image), 4);
}

TEST(ImageFile, ReadsGrayAndProgressiveJpeg) {
  const ImageBytes gray = sample_image(20, 9, 1);
  EXPECT_LE(largest_difference(decode(jpeg_file(gray, {.space = JCS_GRAYSCALE})), gray), 2);
  const ImageBytes color = sample_image(20, 9, 3);
  EXPECT_EQ(decode(jpeg_file(color, {.progressive = true})).pixels, decode(jpeg_file(color)).pixels);
}

TEST(ImageFile, TurnsInkIntoLight) {
  ImageBytes ink = make_image(8, 8, 4, "test");
  for (size_t i = 0; i < 64; ++i) ink.pixels[4 * i] = 255;  // cyan
  const ImageBytes cyan = decode(jpeg_file(ink, {.space = JCS_CMYK}));
  EXPECT_EQ(cyan.channels, 3);
  EXPECT_NEAR(cyan.pixels[0], 0, 2);
  EXPECT_NEAR(cyan.pixels[1], 255, 2);
  // With Adobe's marker the same numbers mean magenta, yellow and black in full.
  EXPECT_NEAR(decode(jpeg_file(ink, {.space = JCS_CMYK, .adobe = true})).pixels[0], 0, 2);
  for (size_t i = 0; i < 64; ++i) ink.pixels[4 * i + 3] = 255;
  EXPECT_NEAR(decode(jpeg_file(ink, {.space = JCS_CMYK, .adobe = true})).pixels[0], 255, 2);
}

TEST(ImageFile, TurnsJpegByItsExifBlock) {
  const ImageBytes image = sample_image(16, 8, 3);
  const ImageBytes turned = decode(jpeg_file(image, {.exif = exif_block(6, true)}));
  EXPECT_EQ(turned.width, 8u);
  EXPECT_EQ(turned.height, 16u);
  // The top left of the upright picture was the bottom left of the stored one.
  EXPECT_NEAR(turned.pixels[0], image.pixels[size_t{7} * 16 * 3], 4);
}

TEST(ImageFile, TurnsWebpByItsExifBlock) {
  const ImageBytes image = sample_image(16, 8, 3);
  const std::string plain = webp_file(image, true);
  const auto number = [](size_t value, int size) {
    std::string out;
    for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
  };
  const std::string exif = exif_block(2, false);
  const std::string features = "VP8X" + number(10, 4) + number(0x08, 4) + number(15, 3) + number(7, 3);
  const std::string body = "WEBP" + features + plain.substr(12) + "EXIF" + number(exif.size(), 4) + exif;
  const ImageBytes turned = decode("RIFF" + number(body.size(), 4) + body);
  EXPECT_EQ(turned.width, 16u);
  EXPECT_EQ(turned.pixels[0], image.pixels[size_t{15} * 3]);
}

TEST(ImageFile, KeepsAlphaOfWebp) {
  const ImageBytes image = sample_image(16, 8, 4);
  EXPECT_EQ(decode(webp_file(image, true)).pixels, image.pixels);
  const ImageBytes lossy = decode(webp_file(image, false));
  EXPECT_EQ(lossy.channels, 4);
  EXPECT_LE(largest_difference(lossy, image), 40);
}

TEST(ImageFile, RefusesOtherContentByName) {
  for (const std::string& content : {std::string(), std::string("GIF89a"), std::string("just text, no picture at all")}) {
    try {
      (void)decode(content);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_EQ(error.find("file"), "test.image");
    }
  }
}

TEST(ImageFile, RefusesAMissingFileByName) {
  try {
    (void)read_image("/nonexistent/a.png");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.find("file"), "/nonexistent/a.png");
  }
}

TEST(ImageFile, RefusesADirectory) {
  const TempDirectory dir;
  EXPECT_THROW((void)read_image(dir.path()), Error);
}

struct Sample {
  std::string name;
  std::string file;
  size_t whole_from;  // shortest length that may decode: trailing markers that hold no pixel may be missing
};

std::vector<Sample> samples() {
  const ImageBytes image = sample_image(24, 17, 3);
  ImageBytes with_text = image;
  with_text.text = {{"prompt", "{}"}, {"note", "猫"}};
  const std::string png = png_text(with_text), jpeg = jpeg_file(image, {.exif = exif_block(6, true)});
  const std::string progressive = jpeg_file(image, {.progressive = true});
  const std::string lossless = webp_file(image, true), lossy = webp_file(sample_image(24, 17, 4), false);
  return {{"png", png, png.size()},
          {"jpeg", jpeg, jpeg.size()},
          {"progressive", progressive, progressive.size()},
          {"lossless_webp", lossless, lossless.size()},
          {"lossy_webp", lossy, lossy.size()}};
}

TEST(ImageFileHostile, CutAtEveryByteIsRefused) {
  for (const Sample& sample : samples()) {
    ASSERT_NO_THROW((void)decode(sample.file)) << sample.name;
    for (size_t length = 0; length < sample.whole_from; ++length) {
      EXPECT_THROW((void)decode(sample.file.substr(0, length)), Error) << sample.name << " " << length;
    }
  }
}

TEST(ImageFileHostile, EveryFlippedBitIsAnErrorOrAPicture) {
  for (const Sample& sample : samples()) {
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * sample.file.size(); ++bit) {
      std::string flipped = sample.file;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      try {
        const ImageBytes image = decode(flipped);
        EXPECT_EQ(image.pixels.size(), size_t{image.width} * image.height * static_cast<size_t>(image.channels));
      } catch (const Error& error) {
        EXPECT_EQ(error.find("file"), "test.image") << sample.name << " " << bit;
        ++refused;
      }
    }
    EXPECT_GT(refused, 0u) << sample.name;
    // Every chunk of a PNG has a checksum.
    if (sample.name == "png") {
      EXPECT_EQ(refused, 8 * sample.file.size());
    }
  }
}

}  // namespace
}  // namespace veneer::formats
