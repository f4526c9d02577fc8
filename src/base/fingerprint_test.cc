#include "base/fingerprint.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace veneer
