#include "veneer/error.h"

#include <gtest/gtest.h>

namespace veneer {
namespace {

TEST(Error, ComposesTextThenDataInOrder) {
  const Error error(ErrorCode::corrupt, "safetensors: range leaves the file", {{"tensor", "a"}, {"end", "9"}});
  EXPECT_STREQ(error.what(), "safetensors: range leaves the file: tensor=a, end=9");
  EXPECT_EQ(error.find("end"), "9");
  EXPECT_EQ(error.find("none"), "");
}

TEST(Error, WithAddsContextAndLeavesTheOriginal) {
  const Error inner(ErrorCode::invalid, "bad value");
  const Error outer = inner.with("node", "7");
  EXPECT_STREQ(outer.what(), "bad value: node=7");
  EXPECT_STREQ(inner.what(), "bad value");
  EXPECT_EQ(outer.code(), ErrorCode::invalid);
}

TEST(Error, EveryCodeHasItsOwnName) {
  EXPECT_EQ(to_string(ErrorCode::not_found), "not_found");
  EXPECT_EQ(to_string(ErrorCode::no_memory), "no_memory");
  EXPECT_EQ(to_string(ErrorCode::cancelled), "cancelled");
}

}  // namespace
}  // namespace veneer
