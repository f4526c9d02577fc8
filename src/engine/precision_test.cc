#include "engine/precision.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "compute/cpu.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

namespace fs = std::filesystem;

constexpr Precision kCompact{DType::f32, compute::WeightStorage::compact};

class PrecisionTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string content() const {
    std::stringstream text;
    text << std::ifstream(folder_ / "machine.json").rdbuf();
    return text.str();
  }
  // Tests run side by side, each in a process of its own.
  fs::path folder_ = fs::path(testing::TempDir()) / ("precision_test-" + std::to_string(::getpid()));
};

TEST_F(PrecisionTest, AutoIsBf16WhereTheCpuHasItAndNeedsNoMeasurement) {
  const auto never = []() -> compute::ProductRates { throw std::logic_error("measured"); };
  EXPECT_EQ(choose_precision("auto", never), compute::bf16_native() ? Precision{DType::bf16} : kCompact);
}

TEST_F(PrecisionTest, FastestIsWhatIsFasterHere) {
  const auto choice = [](double f32, double bf16) { return choose_precision("fastest", [=] { return compute::ProductRates{f32, bf16}; }); };
  if (compute::amx_native()) {
    EXPECT_EQ(choice(2, 1), Precision{DType::bf16}) << "tiles need no measurement";
  } else if (!compute::bf16_native()) {
    EXPECT_EQ(choice(1, 2), kCompact) << "there are no instructions for it";
  } else {
    EXPECT_EQ(choice(1, 2), Precision{DType::bf16});
    EXPECT_EQ(choice(2, 1), kCompact);
    EXPECT_EQ(choice(1, 1.4), kCompact) << "f32's convolutions take fewer products";
  }
}

TEST_F(PrecisionTest, WhatIsAskedForNeedsNoMeasurement) {
  const auto never = []() -> compute::ProductRates { throw std::logic_error("measured"); };
  EXPECT_EQ(choose_precision("f32", never), Precision{});
  if (compute::bf16_supported()) {
    EXPECT_EQ(choose_precision("bf16", never), Precision{DType::bf16});
  } else {
    EXPECT_THROW(choose_precision("bf16", never), Error);
  }
  EXPECT_THROW(choose_precision("f16", never), Error);
}

TEST_F(PrecisionTest, RatesAreMeasuredOncePerMachine) {
  const compute::ProductRates first = rates_of_machine(folder_);
  EXPECT_GT(first.f32, 0);
  EXPECT_EQ(first.bf16 > 0, compute::bf16_supported());
  const std::string written = content();
  const compute::ProductRates second = rates_of_machine(folder_);
  EXPECT_EQ(second.f32, first.f32);
  EXPECT_EQ(second.bf16, first.bf16);
  EXPECT_EQ(content(), written);
}

TEST_F(PrecisionTest, AFileOfAnotherMachineOrADamagedOneIsReplaced) {
  fs::create_directories(folder_);
  for (const char* text : {"", "{", "[]", "null", R"({"machine": 1})", R"({"machine": "another", "gflops_of_one_thread": {"f32": 1, "bf16": 99}})"}) {
    std::ofstream(folder_ / "machine.json") << text;
    rates_of_machine(folder_);
    EXPECT_EQ(content().find("another"), std::string::npos) << text;
    EXPECT_NE(content().find("gflops_of_one_thread"), std::string::npos) << text;
  }
}

TEST_F(PrecisionTest, AFolderThatCannotBeWrittenToIsNoError) {
  EXPECT_GT(rates_of_machine("/proc/none").f32, 0);
  EXPECT_GT(rates_of_machine("").f32, 0);
}

}  // namespace
}  // namespace veneer::engine
