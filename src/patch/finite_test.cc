#include "patch/finite.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace veneer::patch {
namespace {

TEST(Finite, ADtypesLargestValueIsFiniteInItAndTheNextIsNot) {
  EXPECT_TRUE(is_finite_in(65519.0F, DType::f16));
  EXPECT_FALSE(is_finite_in(65520.0F, DType::f16));
  EXPECT_TRUE(is_finite_in(3.39e38F, DType::bf16));
  const float tie = std::bit_cast<float>(0x7f7f8000U);
  EXPECT_TRUE(is_finite_in(std::nextafter(tie, 0.0F), DType::bf16));
  EXPECT_FALSE(is_finite_in(tie, DType::bf16));
  EXPECT_TRUE(is_finite_in(std::numeric_limits<float>::max(), DType::f32));
  EXPECT_FALSE(is_finite_in(std::numeric_limits<float>::infinity(), DType::f32));
  EXPECT_FALSE(is_finite_in(std::numeric_limits<float>::quiet_NaN(), DType::f32));
}

}  // namespace
}  // namespace veneer::patch
