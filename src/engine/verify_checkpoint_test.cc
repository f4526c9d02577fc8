#include "engine/verify_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "engine/testing/engine_bench.h"
#include "formats/safetensors.h"

namespace veneer::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class VerifyCheckpoint : public ::testing::Test {
 protected:
  // The demo model with its tensors changed by `change`, as a file of the test's own.
  template <typename Change>
  void write(const std::string& name, Change change) const {
    EngineBench::Tensors tensors = EngineBench::demo_tensors();
    change(tensors);
    formats::write_safetensors(bench_.checkpoint(name), tensors);
  }
  static const VerifiedPart& part(const VerifyReport& report, std::string_view name) {
    for (const VerifiedPart& part : report.parts) {
      if (part.part == name) return part;
    }
    throw std::runtime_error("no such part");
  }
  static void flip_a_bit(EngineBench::Tensors& tensors, std::string_view name) {
    for (auto& [key, tensor] : tensors) {
      if (key != name) continue;
      tensor = tensor.clone();
      tensor.mutable_bytes()[0] ^= std::byte{1};
    }
  }

  EngineBench bench_;
};

TEST_F(VerifyCheckpoint, FindsAModelEqualToItsFile) {
  const VerifyReport report = bench_.engine().verify(kDemoModel);
  EXPECT_TRUE(report.ok());
  ASSERT_THAT(report.parts, SizeIs(3));
  EXPECT_EQ(part(report, "unet").num_tensors, 324U);
  EXPECT_EQ(part(report, "text_encoder").num_tensors, 68U);
  EXPECT_EQ(part(report, "vae").num_tensors, 176U);
  EXPECT_EQ(report.num_unused, 0U);
  for (const VerifiedPart& part : report.parts) EXPECT_THAT(part.not_compared, IsEmpty());
}

TEST_F(VerifyCheckpoint, FollowsTheLoadersNames) {
  constexpr std::string_view kOld = "cond_stage_model.transformer.";
  write("renamed.safetensors", [&](EngineBench::Tensors& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (name.starts_with(kOld)) name = "cond_stage_model.clip_l.transformer." + name.substr(kOld.size());
    }
    tensors.emplace_back("average.of.training", Tensor::zeros({3}, DType::f32));
  });
  const VerifyReport report = bench_.engine().verify("renamed.safetensors");
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(part(report, "text_encoder").num_tensors, 68U);
  EXPECT_EQ(part(report, "text_encoder").file_sha256, part(bench_.engine().verify(kDemoModel), "text_encoder").file_sha256);
  EXPECT_EQ(report.num_unused, 1U);
}

TEST_F(VerifyCheckpoint, RunsWhatComesInBetweenOnTheSameWeights) {
  Engine engine(bench_.options);
  TextToImage request;
  request.model = kDemoModel;
  request.prompt = "a moon";
  request.loras = {{"style-night", 1}};
  request.steps = 1;
  request.width = request.height = 64;
  bool ran = false;
  const VerifyReport report = engine.verify(kDemoModel, [&] { ran = engine.text_to_image(request).images.size() == 1; });
  EXPECT_TRUE(ran);
  EXPECT_TRUE(report.ok());
}

TEST_F(VerifyCheckpoint, ListsTensorsOfAFileThatWasReplacedInBetween) {
  write("mine.safetensors", [](EngineBench::Tensors&) {});
  const VerifyReport report = bench_.engine().verify("mine.safetensors", [&] {
    write("mine.safetensors", [](EngineBench::Tensors& tensors) { flip_a_bit(tensors, "model.diffusion_model.out.2.weight"); });
  });
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(part(report, "vae").different, IsEmpty());
  ASSERT_THAT(part(report, "unet").different, SizeIs(1));
  const DifferentTensor& tensor = part(report, "unet").different[0];
  EXPECT_EQ(tensor.key, "diffusion_model.out.2.weight");
  EXPECT_EQ(tensor.name, "model.diffusion_model.out.2.weight");
  EXPECT_NE(tensor.file_sha256, tensor.memory_sha256);
  EXPECT_FALSE(part(report, "unet").changed()) << "the mapping keeps the file that was loaded";
}

TEST_F(VerifyCheckpoint, NoticesWeightsThatChangeInMemory) {
  write("mine.safetensors", [](EngineBench::Tensors&) {});
  // A mapping shows what another program writes into the file.
  const VerifyReport report = bench_.engine().verify("mine.safetensors", [&] {
    std::fstream file(bench_.checkpoint("mine.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get() ^ 1);
    file.seekp(-1, std::ios::end);
    file.put(last);
  });
  EXPECT_FALSE(report.ok());
  size_t changed = 0;
  for (const VerifiedPart& part : report.parts) {
    EXPECT_THAT(part.different, IsEmpty()) << "memory shows the file as it is now";
    changed += part.changed() ? 1 : 0;
  }
  EXPECT_EQ(changed, 1U);
}

TEST_F(VerifyCheckpoint, ListsAPartThatTheFileNoLongerHas) {
  write("mine.safetensors", [](EngineBench::Tensors&) {});
  const VerifyReport report = bench_.engine().verify("mine.safetensors", [&] {
    write("mine.safetensors", [](EngineBench::Tensors& tensors) {
      std::erase_if(tensors, [](const auto& entry) { return entry.first.starts_with("first_stage_model."); });
    });
  });
  EXPECT_THAT(part(report, "vae").different, SizeIs(176));
  EXPECT_TRUE(part(report, "unet").ok());
}

TEST_F(VerifyCheckpoint, PassesOnWhatIsThrownInBetween) {
  EXPECT_THROW((void)bench_.engine().verify(kDemoModel, [] { throw std::runtime_error("stop"); }), std::runtime_error);
}

TEST_F(VerifyCheckpoint, NamesAFileThatIsNoModel) {
  bench_.folder.write("checkpoints/text.safetensors", "hello");
  const Error corrupt = error_of([&] { (void)bench_.engine().verify("text.safetensors"); });
  EXPECT_EQ(corrupt.code(), ErrorCode::corrupt);
  EXPECT_THAT(std::string(corrupt.find("file")), HasSubstr("text.safetensors"));
  EXPECT_EQ(error_of([&] { (void)bench_.engine().verify("nowhere.safetensors"); }).code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace veneer::engine
