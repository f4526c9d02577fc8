#include "server/picture_gate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "server/http/message.h"

namespace veneer::server {
namespace {

unsigned enter(PictureGate& gate, uint64_t width, uint64_t height) {
  try {
    const PictureGate::Pass pass(gate, width, height);
    return 200;
  } catch (const HttpError& error) {
    return error.status();
  }
}

TEST(PictureGate, PicturesOfTooManyPixelsAreRefused) {
  PictureGate gate;
  EXPECT_EQ(enter(gate, 8192, 8192), 200U);
  EXPECT_EQ(enter(gate, 8192, 8193), 400U);
  EXPECT_EQ(enter(gate, UINT32_MAX, UINT32_MAX), 400U);
  EXPECT_EQ(enter(gate, UINT64_MAX, UINT64_MAX), 400U);
}

TEST(PictureGate, BytesAreCountedTogetherAndGivenBack) {
  PictureGate gate({.max_pixels = 1000, .max_bytes = 4000, .at_once = 2, .may_wait = 1});
  {
    const PictureGate::Pass first(gate, 10, 60);
    EXPECT_EQ(enter(gate, 10, 60), 503U);
    EXPECT_EQ(enter(gate, 10, 40), 200U);
  }
  EXPECT_EQ(enter(gate, 10, 100), 200U);
}

TEST(PictureGate, WhoCannotWaitIsRefused) {
  PictureGate gate({.max_pixels = 1000, .max_bytes = 4000, .at_once = 1, .may_wait = 0});
  const PictureGate::Pass first(gate, 1, 1);
  EXPECT_EQ(enter(gate, 1, 1), 503U);
}

TEST(PictureGate, SizesAreReadFromHeaders) {
  PictureGate gate({.max_pixels = 99, .max_bytes = 4000, .at_once = 1, .may_wait = 0});
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("veneer_gate_" + std::to_string(::getpid()));
  const auto status = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    try {
      const PictureGate::Pass pass(gate, file);
      return 200U;
    } catch (const HttpError& error) {
      return error.status();
    }
  };
  const auto zeros = [](size_t count) { return std::string(count, '\0'); };
  const auto joined = [](std::initializer_list<std::string> parts) {
    std::string all;
    for (const std::string& part : parts) all += part;
    return all;
  };
  for (const auto& [side, want] : {std::pair<char, unsigned>{9, 200}, {10, 400}}) {
    const std::string s(1, side);
    const std::string less(1, static_cast<char>(side - 1));
    EXPECT_EQ(status(joined({"\x89PNG\r\n\x1a\n", zeros(3), "\rIHDR", zeros(3), s, zeros(3), s})), want);
    EXPECT_EQ(status(joined({"\xFF\xD8\xFF\xE0", zeros(1), "\x04xx\xFF\xC2", zeros(1), "\x11\x08", zeros(1), s, zeros(1), s})), want);
    EXPECT_EQ(status(joined({"RIFFxxxxWEBPVP8X", zeros(8), less, zeros(2), less, zeros(2)})), want);
    EXPECT_EQ(status(joined({"RIFFxxxxWEBPVP8 ", zeros(10), s, zeros(1), s, zeros(1)})), want);
  }
  for (const char* none : {"", "text", "\xFF\xD8", "\xFF\xD8\xFF\xE0", "\x89PNG", "RIFFxxxxWEBP"}) EXPECT_EQ(status(none), 200U) << none;
  std::filesystem::remove(file);
}

TEST(PictureGate, LooksAtPicturesInMemoryToo) {
  PictureGate gate({.max_pixels = 100, .max_bytes = 1000, .at_once = 1, .may_wait = 0});
  std::string head = "\x89PNG\r\n\x1a\n";
  head += std::string("\0\0\0\rIHDR\0\0\0\x0b\0\0\0\x0a\x08\x02\0\0\0", 21);  // 11 x 10
  EXPECT_THROW(PictureGate::Pass(gate, {}, head), HttpError);
  head[19] = '\x05';
  EXPECT_NO_THROW(PictureGate::Pass(gate, {}, head));
  EXPECT_NO_THROW(PictureGate::Pass(gate, {}, "no picture"));
}

}  // namespace
}  // namespace veneer::server
