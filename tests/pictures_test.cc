// Whole pictures against those of the reference implementation. A folder of references holds, per NAME: NAME.json (a workflow), NAME_0.png,
// NAME_1.png,
// ... (its pictures in the order they are saved) and NAME.safetensors (latent_0, ...: what each sampler node gave, in the order of the file).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "compute/cpu.h"
#include "formats/model_file.h"
#include "formats/testing/temp_directory.h"
#include "support/picture_compare.h"
#include "support/read_json.h"
#include "support/test_paths.h"
#include "support/workflow_runner.h"

namespace veneer::testing {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastPsnr = 35;
constexpr double kLeastMeanPsnr = 45;
constexpr double kMostLatentError = 2e-3;
constexpr double kLeastPsnrOfBf16 = 30;

std::vector<fs::path> workflows_of(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<fs::path> references_of(const fs::path& workflow) {
  std::vector<fs::path> out;
  for (;;) {
    fs::path picture = workflow.parent_path() / (workflow.stem().string() + "_" + std::to_string(out.size()) + ".png");
    if (!fs::exists(picture)) return out;
    out.push_back(std::move(picture));
  }
}

nodes::ImageFolders folders_for(const fs::path& references, const formats::TempDirectory& folder) {
  return {references / "input", folder.path() / "output", folder.path() / "temp"};
}

void compare_latents(const WorkflowRun& run, const fs::path& reference) {
  const formats::ModelFile file = formats::ModelFile::open(reference);
  ASSERT_EQ(run.latents.size(), file.entries().size());
  for (size_t i = 0; i < run.latents.size(); ++i) {
    const std::string name = "latent_" + std::to_string(i);
    const double error = relative_error(run.latents[i], file.tensor(name).clone());
    std::printf("  %s: relative error %.2e\n", name.c_str(), error);
    EXPECT_LE(error, kMostLatentError) << name;
  }
}

void expect_reference(const fs::path& references) {
  const formats::TempDirectory folder;
  WorkflowRunner runner(demo_models(), folders_for(references, folder), DType::f32);
  double sum = 0;
  int count = 0;
  for (const fs::path& workflow : workflows_of(references)) {
    SCOPED_TRACE(workflow.string());
    std::printf("%s\n", workflow.stem().c_str());
    const WorkflowRun run = runner.run(read_json(workflow));
    ASSERT_EQ(run.result.status, graph::ExecutionStatus::success) << run.result.error->exception_message;
    const std::vector<fs::path> wanted = references_of(workflow);
    ASSERT_FALSE(wanted.empty());
    ASSERT_EQ(run.pictures.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double decibels = psnr(run.pictures[i], wanted[i]);
      std::printf("  %s: PSNR %.1f dB\n", wanted[i].filename().c_str(), decibels);
      EXPECT_GE(decibels, kLeastPsnr) << wanted[i];
      sum += decibels;
      ++count;
    }
    compare_latents(run, fs::path(workflow).replace_extension(".safetensors"));
  }
  ASSERT_GT(count, 0);
  EXPECT_GE(sum / count, kLeastMeanPsnr);
}

void expect_bf16_near_f32(const fs::path& references) {
  if (!compute::bf16_supported()) GTEST_SKIP() << "this CPU does not compute in bf16";
  const formats::TempDirectory f32_folder;
  const formats::TempDirectory bf16_folder;
  WorkflowRunner f32(demo_models(), folders_for(references, f32_folder), DType::f32);
  WorkflowRunner bf16(demo_models(), folders_for(references, bf16_folder), DType::bf16);
  for (const fs::path& workflow : workflows_of(references)) {
    SCOPED_TRACE(workflow.string());
    const WorkflowRun wanted = f32.run(read_json(workflow));
    const WorkflowRun got = bf16.run(read_json(workflow));
    ASSERT_FALSE(wanted.pictures.empty());
    ASSERT_EQ(got.pictures.size(), wanted.pictures.size());
    for (size_t i = 0; i < wanted.pictures.size(); ++i) {
      const double decibels = psnr(got.pictures[i], wanted.pictures[i]);
      std::printf("%s, picture %zu: PSNR of bf16 against f32 %.1f dB\n", workflow.stem().c_str(), i, decibels);
      EXPECT_GE(decibels, kLeastPsnrOfBf16);
      EXPECT_LT(decibels, kEqualPsnr) << "bf16 was not used";
    }
  }
}

fs::path recorded() { return source_folder() / "tests/goldens/pictures"; }
fs::path shared() { return shared_folder() / "pictures"; }

TEST(RecordedPictures, EqualTheReferenceInF32) { expect_reference(recorded()); }
TEST(RecordedPictures, AreNearTheirF32OnesInBf16) { expect_bf16_near_f32(recorded()); }

TEST(SharedPictures, EqualTheReferenceInF32) {
  VENEER_NEEDS_SHARED("pictures");
  expect_reference(shared());
}

TEST(SharedPictures, AreNearTheirF32OnesInBf16) {
  VENEER_NEEDS_SHARED("pictures");
  expect_bf16_near_f32(shared());
}

}  // namespace
}  // namespace veneer::testing
