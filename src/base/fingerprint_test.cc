#include "base/fingerprint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace veneer {
namespace {

TEST(Fingerprint, LengthsSeparateNeighbouringTexts) {
  EXPECT_NE(FingerprintBuilder().add("ab").add("c").finish(), FingerprintBuilder().add("a").add("bc").finish());
  EXPECT_EQ(FingerprintBuilder().add("ab").add("c").finish(), FingerprintBuilder().add("ab").add("c").finish());
}

TEST(Fingerprint, HexHasTheHighHalfFirst) { EXPECT_EQ((Fingerprint{0x0123456789abcdefULL, 0x1ULL}).hex(), "0123456789abcdef0000000000000001"); }

TEST(Fingerprint, NumbersDifferByTypeWidth) {
  EXPECT_NE(FingerprintBuilder().add(uint32_t{1}).finish(), FingerprintBuilder().add(uint64_t{1}).finish());
}

TEST(Fingerprint, IsThatOfTheBytesHoweverManyAndInWhateverPieces) {
  for (const size_t words : {0U, 1U, 55U, 56U, 57U, 300U}) {
    FingerprintBuilder by_word, by_byte;
    std::vector<std::byte> bytes;
    for (uint64_t word = 0; word < words; ++word) {
      const uint64_t value = (word + 1) * 0x9e3779b97f4a7c15ULL;
      by_word.add(value);
      std::array<std::byte, sizeof value> part{};
      std::memcpy(part.data(), &value, sizeof value);
      for (const std::byte byte : part) by_byte.add(byte);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    EXPECT_EQ(by_word.finish(), fingerprint_of(bytes)) << words;
    EXPECT_EQ(by_byte.finish(), fingerprint_of(bytes)) << words;
  }
}

}  // namespace
}  // namespace veneer
