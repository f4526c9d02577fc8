#include "base/profile.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/profile_report.h"

namespace veneer {
namespace {

ProfileEvent event(ProfileKind kind, const char* name, int64_t begin, int64_t end, ProfileWork work = {}, int64_t thread = 1) {
  return {kind, name, std::move(work), begin * 1'000'000'000, end * 1'000'000'000, thread};
}

TEST(ProfileSpan, WithoutAProfileDescribesNothing) {
  bool described = false;
  {
    const ProfileSpan span(nullptr, ProfileKind::op, "add", [&] {
      described = true;
      return ProfileWork();
    });
  }
  EXPECT_FALSE(described);
}

TEST(ProfileSpan, IsAddedWhenItEndsByWhateverWay) {
  Profile profile;
  try {
    const ProfileSpan outer(&profile, ProfileKind::network, "unet");
    const ProfileSpan inner(&profile, ProfileKind::op, "add", [] { return ProfileWork{"[2]", "f32", 0, 8}; });
    throw 1;
  } catch (int) {
  }
  const std::vector<ProfileEvent> events = profile.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name, "add");
  EXPECT_EQ(events[0].work.shape, "[2]");
  EXPECT_EQ(events[1].name, "unet");
  EXPECT_LE(events[1].begin_ns, events[0].begin_ns);
  EXPECT_GE(events[1].end_ns, events[0].end_ns);
  EXPECT_TRUE(profile.take().empty());
}

TEST(ProfileSpan, ForgetsWhatWasShort) {
  Profile profile;
  {
    const ProfileSpan span(
        &profile, ProfileKind::prepare, "pack", [] { return ProfileWork(); }, int64_t{1} << 60);
  }
  EXPECT_TRUE(profile.take().empty());
}

TEST(ProfileSpan, BearsTheNumberOfItsThread) {
  Profile profile;
  int64_t other = 0;
  { const ProfileSpan here(&profile, ProfileKind::op, "a"); }
  std::thread([&] {
    other = Profile::this_thread();
    const ProfileSpan there(&profile, ProfileKind::op, "b");
  }).join();
  const std::vector<ProfileEvent> events = profile.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].thread, Profile::this_thread());
  EXPECT_EQ(events[1].thread, other);
  EXPECT_NE(events[0].thread, events[1].thread);
}

TEST(ProfileReport, TakesWhatLiesWithinOutOfWhatIsAround) {
  const std::vector<ProfileEvent> events{event(ProfileKind::op, "im2col", 1, 2), event(ProfileKind::op, "conv2d", 1, 5, {"s", "f32", 100, 0}),
                                         event(ProfileKind::network, "unet", 0, 10)};
  const ProfileReport report = profile_report(events);
  ASSERT_EQ(report.rows.size(), 3U);
  EXPECT_EQ(report.rows[0].name, "unet");
  EXPECT_DOUBLE_EQ(report.rows[0].seconds, 6);
  EXPECT_DOUBLE_EQ(report.rows[0].total_seconds, 10);
  EXPECT_EQ(report.rows[1].name, "conv2d");
  EXPECT_DOUBLE_EQ(report.rows[1].seconds, 3);
  EXPECT_DOUBLE_EQ(report.rows[2].seconds, 1);
  EXPECT_DOUBLE_EQ(report.wall_seconds, 10);
  EXPECT_DOUBLE_EQ(report.unet_seconds, 10);
  EXPECT_DOUBLE_EQ(report.unet_matrix_share, 0.3);
  EXPECT_DOUBLE_EQ(report.unet_other_share, 0.1);
  EXPECT_DOUBLE_EQ(report.unet_rest_share, 0.6);
  EXPECT_DOUBLE_EQ(report.unet_flops, 100);
}

TEST(ProfileReport, ThreadsDoNotLieWithinEachOther) {
  const std::vector<ProfileEvent> events{event(ProfileKind::op, "a", 1, 2, {}, 7), event(ProfileKind::network, "unet", 0, 10, {}, 8)};
  const ProfileReport report = profile_report(events);
  EXPECT_DOUBLE_EQ(report.rows[0].seconds, 10);
  EXPECT_DOUBLE_EQ(report.unet_other_share, 0);
}

TEST(ProfileReport, StepsAreCountedWithoutTheFirst) {
  const std::vector<ProfileEvent> events{event(ProfileKind::network, "unet", 0, 50), event(ProfileKind::step, "step", 0, 60, {"1", "", 0, 0}),
                                         event(ProfileKind::network, "unet", 60, 69), event(ProfileKind::step, "step", 60, 70, {"2", "", 0, 0})};
  const ProfileReport report = profile_report(events);
  EXPECT_EQ(report.steps, 1U);
  EXPECT_DOUBLE_EQ(report.step_seconds, 10);
  EXPECT_DOUBLE_EQ(report.step_outside_share, 0.1);
  EXPECT_EQ(report.unet_calls, 2U);
}

TEST(ProfileReport, OfNothingIsEmpty) {
  EXPECT_TRUE(profile_report({}).rows.empty());
  EXPECT_EQ(profile_report({}).wall_seconds, 0);
}

TEST(ChromeTrace, EscapesAndCountsInMicroseconds) {
  const std::string trace = chrome_trace(std::vector<ProfileEvent>{event(ProfileKind::node, "a\"b\n", 1, 3, {"[2]", "f32", 4e9, 2e9}, 5)});
  EXPECT_NE(trace.find(R"({"name":"a\"b\u000a","cat":"node","ph":"X","ts":1000000.000,"dur":2000000.000,)"), std::string::npos) << trace;
  EXPECT_NE(trace.find(R"("tid":5,"args":{"shape":"[2]","dtype":"f32","GFLOP/s":2.0,"GB/s":1.00}})"), std::string::npos) << trace;
  EXPECT_NE(trace.find(R"("args":{"name":"thread 5"})"), std::string::npos) << trace;
}

}  // namespace
}  // namespace veneer
