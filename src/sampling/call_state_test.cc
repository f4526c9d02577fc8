#include "sampling/call_state.h"

#include <gtest/gtest.h>

namespace veneer::sampling {
namespace {

TEST(CallState, KeepsValuesByName) {
  CallState state;
  EXPECT_EQ(state.find<int>("a"), nullptr);
  EXPECT_EQ(state.get<int>("a"), 0);
  state.get<int>("a") = 3;
  state.get<std::string>("b") = "text";
  EXPECT_EQ(state.get<int>("a"), 3);
  EXPECT_EQ(*state.find<std::string>("b"), "text");
}

TEST(CallState, RefusesAnotherTypeUnderAName) {
  CallState state;
  state.get<int>("a") = 3;
  EXPECT_EQ(state.find<float>("a"), nullptr);
  EXPECT_THROW(state.get<float>("a"), Error);
  EXPECT_EQ(state.get<int>("a"), 3);
}

}  // namespace
}  // namespace veneer::sampling
