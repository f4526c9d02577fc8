#include "formats/png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "formats/testing/image_samples.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string big_endian(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

std::string chunk(const std::string& type_and_data) {
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(type_and_data.data()), static_cast<uInt>(type_and_data.size()));
  return big_endian(static_cast<uint32_t>(type_and_data.size() - 4)) + type_and_data + big_endian(static_cast<uint32_t>(crc));
}

std::string deflated(const std::string& raw) {
  std::string out(compressBound(raw.size()), '\0');
  uLongf size = out.size();
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(raw.data()), raw.size());
  return out.substr(0, size);
}

const std::string kSignature = "\x89PNG\r\n\x1a\n";

// A file put together by hand. `raw` has a filter byte before each row.
std::string png_file(uint32_t width, uint32_t height, char depth, char color, const std::string& extra, const std::string& raw) {
  const std::string header = "IHDR" + big_endian(width) + big_endian(height) + depth + color + std::string(3, '\0');
  return kSignature + chunk(header) + extra + chunk("IDAT" + deflated(raw)) + chunk("IEND");
}

ImageBytes decode(const std::string& file) { return decode_png(std::as_bytes(std::span(file)), "test.png"); }

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

TEST(Png, ReadsWhatItWroteForEveryChannelCount) {
  for (const int channels : {1, 3, 4}) {
    const ImageBytes image = sample_image(7, 5, channels);
    const ImageBytes back = decode_png(encode_png(image), "test.png");
    EXPECT_EQ(back.width, 7u);
    EXPECT_EQ(back.height, 5u);
    EXPECT_EQ(back.channels, channels);
    EXPECT_EQ(back.pixels, image.pixels);
    EXPECT_FALSE(back.alpha_from_key);
  }
}

TEST(Png, ReadsWhatItWroteAtEveryCompressionLevel) {
  const ImageBytes image = sample_image(33, 20, 3);
  for (int level = 0; level <= 9; ++level)
    EXPECT_EQ(decode_png(encode_png(image, {.compress_level = level}), "test.png").pixels, image.pixels) << level;
}

TEST(Png, EqualImagesGiveEqualBytes) {
  ImageBytes image = sample_image(33, 20, 3);
  image.text = {{"prompt", "{}"}};
  EXPECT_EQ(encode_png(image), encode_png(image));
}

TEST(Png, KeepsTextInOrder) {
  ImageBytes image = sample_image(2, 2, 3);
  image.text = {{"prompt", R"({"1": {"class_type": "KSampler"}})"}, {"workflow", "{}"}, {"Café", "naïve ÿ"}, {"note", "猫 and 🐈"}, {"empty", ""}};
  EXPECT_EQ(decode_png(encode_png(image), "test.png").text, image.text);
  EXPECT_EQ(*image.find_text("workflow"), "{}");
  EXPECT_EQ(image.find_text("absent"), nullptr);
}

TEST(Png, WritesPlainTextChunksBeforeThePixelsAsPillowDoes) {
  ImageBytes image = sample_image(2, 2, 3);
  image.text = {{"prompt", "{\"a\": 1}"}, {"note", "猫"}};
  const std::string file = as_text(encode_png(image));
  const std::string prompt = chunk(std::string("tEXtprompt\0", 11) + "{\"a\": 1}");
  const std::string note = chunk(std::string("iTXtnote\0\0\0\0\0", 13) + "猫");
  EXPECT_EQ(file.substr(33, prompt.size() + note.size()), prompt + note);
}

TEST(Png, HoldsATextOfManyMegabytes) {
  ImageBytes image = sample_image(2, 2, 3);
  image.text = {{"workflow", std::string(20 << 20, 'w')}};
  EXPECT_EQ(decode_png(encode_png(image), "test.png").text, image.text);
}

TEST(Png, ReadsCompressedText) {
  const std::string text = chunk(std::string("zTXtnote\0\0", 10) + deflated("caf\xE9"));
  EXPECT_THAT(decode(png_file(1, 1, 8, 0, text, bytes({0, 9}))).text, ElementsAre(Pair("note", "café")));
}

TEST(Png, DropsUnicodeTextThatIsNot) {
  const std::string text = chunk(std::string("iTXtnote\0\0\0\0\0", 13) + "\xFF");
  EXPECT_TRUE(decode(png_file(1, 1, 8, 0, text, bytes({0, 9}))).text.empty());
}

TEST(Png, WriterRefusesTextThatPngCannotHold) {
  const auto refusal = [](const std::string& key, const std::string& value) -> std::string {
    ImageBytes image = sample_image(1, 1, 3);
    image.text = {{key, value}};
    try {
      (void)encode_png(image);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid);
      return error.text();
    }
    return "";
  };
  EXPECT_THAT(refusal("", "v"), HasSubstr("key"));
  EXPECT_THAT(refusal(std::string(80, 'k'), "v"), HasSubstr("key"));
  EXPECT_THAT(refusal("猫", "v"), HasSubstr("key"));
  EXPECT_THAT(refusal("k", std::string("a\0b", 3)), HasSubstr("zero byte"));
  EXPECT_THAT(refusal("k", "\xC3\x28"), HasSubstr("UTF-8"));
}

TEST(Png, WriterRefusesImagesThatDoNotAddUp) {
  ImageBytes two_channels = sample_image(2, 2, 3);
  two_channels.channels = 2;
  ImageBytes short_of_bytes = sample_image(2, 2, 3);
  short_of_bytes.pixels.pop_back();
  EXPECT_THROW((void)encode_png(two_channels), Error);
  EXPECT_THROW((void)encode_png(short_of_bytes), Error);
  EXPECT_THROW((void)encode_png(ImageBytes{}), Error);
  EXPECT_THROW((void)encode_png(sample_image(1, 1, 3), {.compress_level = 10}), Error);
}

TEST(Png, ExpandsSmallGrays) {
  EXPECT_THAT(decode(png_file(8, 1, 1, 0, "", bytes({0, 0b10100001}))).pixels, ElementsAre(255, 0, 255, 0, 0, 0, 0, 255));
  EXPECT_THAT(decode(png_file(4, 1, 2, 0, "", bytes({0, 0b00011011}))).pixels, ElementsAre(0, 85, 170, 255));
  EXPECT_THAT(decode(png_file(2, 1, 4, 0, "", bytes({0, 0x3F}))).pixels, ElementsAre(51, 255));
}

TEST(Png, TakesTheHighByteOfSixteenBits) {
  const ImageBytes gray = decode(png_file(2, 1, 16, 0, "", bytes({0, 0x12, 0xFF, 0xFE, 0x00})));
  EXPECT_EQ(gray.channels, 1);
  EXPECT_THAT(gray.pixels, ElementsAre(0x12, 0xFE));
  EXPECT_THAT(decode(png_file(1, 1, 16, 2, "", bytes({0, 1, 255, 2, 255, 3, 255}))).pixels, ElementsAre(1, 2, 3));
  EXPECT_THAT(decode(png_file(1, 1, 16, 6, "", bytes({0, 1, 0, 2, 0, 3, 0, 4, 0}))).pixels, ElementsAre(1, 2, 3, 4));
}

TEST(Png, GivesGrayWithAlphaAsRgba) {
  const ImageBytes image = decode(png_file(2, 1, 8, 4, "", bytes({0, 10, 20, 30, 40})));
  EXPECT_EQ(image.channels, 4);
  EXPECT_THAT(image.pixels, ElementsAre(10, 10, 10, 20, 30, 30, 30, 40));
}

TEST(Png, ExpandsPalettesWithAndWithoutTransparency) {
  const std::string palette = chunk("PLTE" + bytes({1, 2, 3, 4, 5, 6}));
  const ImageBytes opaque = decode(png_file(2, 1, 8, 3, palette, bytes({0, 1, 0})));
  EXPECT_EQ(opaque.channels, 3);
  EXPECT_THAT(opaque.pixels, ElementsAre(4, 5, 6, 1, 2, 3));
  const ImageBytes clear = decode(png_file(2, 1, 8, 3, palette + chunk("tRNS" + bytes({7})), bytes({0, 1, 0})));
  EXPECT_THAT(clear.pixels, ElementsAre(4, 5, 6, 255, 1, 2, 3, 7));
  EXPECT_FALSE(clear.alpha_from_key);
}

TEST(Png, MarksAlphaThatComesFromAKeyColour) {
  const ImageBytes rgb = decode(png_file(2, 1, 8, 2, chunk("tRNS" + bytes({0, 1, 0, 2, 0, 3})), bytes({0, 1, 2, 3, 1, 2, 4})));
  EXPECT_THAT(rgb.pixels, ElementsAre(1, 2, 3, 0, 1, 2, 4, 255));
  EXPECT_TRUE(rgb.alpha_from_key);
  const ImageBytes gray = decode(png_file(2, 1, 8, 0, chunk("tRNS" + bytes({0, 9})), bytes({0, 9, 8})));
  EXPECT_THAT(gray.pixels, ElementsAre(9, 9, 9, 0, 8, 8, 8, 255));
  EXPECT_TRUE(gray.alpha_from_key);
}

TEST(Png, ReadsInterlacedFiles) {
  // Adam7 of 2 x 2: pass 1 has (0, 0), pass 6 has (1, 0), pass 7 has row 1.
  std::string file = png_file(2, 2, 8, 0, "", bytes({0, 1, 0, 2, 0, 3, 4}));
  const std::string header = "IHDR" + big_endian(2) + big_endian(2) + bytes({8, 0, 0, 0, 1});
  file.replace(8, chunk(header).size(), chunk(header));
  EXPECT_THAT(decode(file).pixels, ElementsAre(1, 2, 3, 4));
}

TEST(Png, TurnsThePictureByItsExifBlock) {
  EXPECT_THAT(decode(png_file(2, 1, 8, 0, chunk("eXIf" + exif_block(3, true)), bytes({0, 1, 2}))).pixels, ElementsAre(2, 1));
}

TEST(Png, RefusesASizeThatTheFileCannotHold) {
  try {
    (void)decode(png_file(16'000, 16'000, 8, 6, "", bytes({0})));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "png: file is too small for its image");
    EXPECT_EQ(error.find("file"), "test.png");
  }
}

TEST(Png, RefusesSidesPastTheBound) {
  EXPECT_THROW((void)decode(png_file(65'536, 1, 8, 0, "", std::string(65'537, '\0'))), Error);
  EXPECT_THROW((void)decode(png_file(0, 1, 8, 0, "", bytes({0}))), Error);
  EXPECT_THROW((void)decode(png_file(0xFFFFFFFF, 0xFFFFFFFF, 16, 6, "", bytes({0}))), Error);
}

TEST(Png, RefusesPixelsThatEndEarly) { EXPECT_THROW((void)decode(png_file(2, 2, 8, 0, "", bytes({0, 1, 2, 0}))), Error); }

TEST(Png, RefusesTextThatInflatesPastTheBound) {
  const std::string text = chunk(std::string("zTXtnote\0\0", 10) + deflated(std::string(80 << 20, 'x')));
  EXPECT_NO_THROW({
    // libpng drops the text and keeps the picture, or refuses the file: it never holds the inflated text.
    try {
      EXPECT_TRUE(decode(png_file(1, 1, 8, 0, text, bytes({0, 9}))).text.empty());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
    }
  });
}

TEST(Png, BoundsTheTextChunksTogether) {
  const auto with_texts = [](int count, size_t size) {
    const std::string text = chunk(std::string("zTXtnote\0\0", 10) + deflated(std::string(size, 'x')));
    std::string texts;
    for (int i = 0; i < count; ++i) texts += text;
    return png_file(1, 1, 8, 0, texts, bytes({0, 9}));
  };
  EXPECT_EQ(decode(with_texts(256, 3)).text.size(), 256u);
  EXPECT_EQ(decode(with_texts(4, 15 << 20)).text.size(), 4u);
  try {
    (void)decode(with_texts(257, 3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "png: too many text chunks");
  }
  try {
    (void)decode(with_texts(5, 15 << 20));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_EQ(error.find("reason"), "text chunks hold more than 64 MiB");
  }
}

TEST(Png, RefusesAChunkThatLeavesTheFile) {
  const std::string whole = png_file(1, 1, 8, 0, "", bytes({0, 9}));
  try {
    (void)decode(whole.substr(0, 33) + big_endian(0x7FFFFFFF) + "tEXtnote");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_EQ(error.text(), "png: chunk leaves the file");
    EXPECT_EQ(error.find("file"), "test.png");
    EXPECT_EQ(error.find("chunk"), "tEXt");
    EXPECT_EQ(error.find("length"), "2147483647");
  }
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_THROW((void)decode(whole.substr(0, size)), Error) << size;
}

}  // namespace
}  // namespace veneer::formats
