#include "plugins/probe.h"

#include <gtest/gtest.h>

namespace veneer::plugins {
namespace {

// What becomes of a child that does this; it has the file's name as $0.
std::string outcome(const std::string& script, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  return probe_library({"/bin/sh", "-c", script}, "file.so", limit);
}

TEST(Probe, TakesTheAnswerOfTheChild) {
  EXPECT_EQ(outcome("echo + >&3"), "");
  EXPECT_EQ(outcome("echo '-the reason' >&3"), "the reason");
  EXPECT_EQ(outcome("echo \"-$0\" >&3"), "file.so");
}

TEST(Probe, DoesNotWaitForAChildThatToldAndStays) { EXPECT_EQ(outcome("echo + >&3; exec sleep 600"), ""); }

TEST(Probe, RefusesWhatCrashes) { EXPECT_NE(outcome("kill -SEGV $$").find("signal 11"), std::string::npos); }

TEST(Probe, RefusesWhatEndsWithoutAnAnswer) {
  EXPECT_NE(outcome("exit 0").find("exit code 0"), std::string::npos);
  EXPECT_NE(outcome("printf + >&3").find("exit code 0"), std::string::npos) << "half an answer";
  EXPECT_NE(outcome("echo + ").find("exit code 0"), std::string::npos) << "standard output is no answer";
}

TEST(Probe, RefusesWhatTakesTooLong) { EXPECT_NE(outcome("exec sleep 600", std::chrono::milliseconds(50)).find("took longer"), std::string::npos); }

TEST(Probe, EndsAChildThatClosesItsStreamAndStays) {
  EXPECT_NE(outcome("exec 3>&-; exec sleep 600", std::chrono::milliseconds(100)).find("no answer"), std::string::npos);
}

TEST(Probe, RefusesEndlessAnswers) { EXPECT_NE(outcome("while true; do printf xxxxxxxxxxxxxxxx >&3 || exit 7; done"), ""); }

}  // namespace
}  // namespace veneer::plugins
