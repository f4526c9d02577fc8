#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "formats/model_file.h"
#include "formats/safetensors.h"
#include "nodes/testing/node_bench.h"
#include "nodes/values.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kModel = "shapes-sd-tiny.safetensors";

class LoaderNodes : public ::testing::Test {
 protected:
  // A copy of the demo checkpoint with only the tensors that `keep` accepts.
  template <typename Keep>
  void write_checkpoint(const std::string& name, Keep keep) {
    const auto whole = formats::ModelFile::open(NodeBench::demo() / "checkpoints" / kModel);
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const auto& entry : whole.entries()) {
      if (keep(entry.name)) tensors.emplace_back(entry.name, whole.tensor(entry.name));
    }
    formats::write_safetensors(bench_.root() / "models" / name, tensors);
  }
  Error checkpoint_error(const std::string& name) { return bench_.error_of("CheckpointLoaderSimple", {{"ckpt_name", text(name)}}); }
  std::vector<graph::Value> checkpoint(const std::string& name) { return bench_.run("CheckpointLoaderSimple", {{"ckpt_name", text(name)}}); }

  // Every error of a loader says which input named which file.
  static void expect_named(const Error& error, const char* input, const std::string& file) {
    EXPECT_EQ(error.find("input"), input) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(file));
  }

  NodeBench bench_;
};

TEST_F(LoaderNodes, ShareWhatIsAliveBetweenCalls) {
  const std::vector<graph::Value> first = checkpoint(kModel);
  const std::vector<graph::Value> second = checkpoint(kModel);
  EXPECT_EQ(first[0].get<ModelValue>().patcher.model(), second[0].get<ModelValue>().patcher.model());
  EXPECT_EQ(first[1].get<ClipValue>().patcher.model(), second[1].get<ClipValue>().patcher.model());
  EXPECT_EQ(first[2].get<VaeValue>().patcher.model(), second[2].get<VaeValue>().patcher.model());
}

TEST_F(LoaderNodes, ALoraOfStrengthZeroGivesTheSameModelsAndIsNotRead) {
  const std::vector<graph::Value> loaded = checkpoint(kModel);
  const graph::Value zero = graph::Value::number(0);
  const auto out = bench_.run(
      "LoraLoader",
      {{"model", loaded[0]}, {"clip", loaded[1]}, {"lora_name", text("nowhere.safetensors")}, {"strength_model", zero}, {"strength_clip", zero}});
  EXPECT_EQ(&out[0].get<ModelValue>(), &loaded[0].get<ModelValue>());
  EXPECT_EQ(&out[1].get<ClipValue>(), &loaded[1].get<ClipValue>());
  const auto only = bench_.run("LoraLoaderModelOnly", {{"model", loaded[0]}, {"lora_name", text("nowhere.safetensors")}, {"strength_model", zero}});
  EXPECT_EQ(&only[0].get<ModelValue>(), &loaded[0].get<ModelValue>());
}

TEST_F(LoaderNodes, SayThatALoraIsNoCheckpoint) {
  fs::copy_file(NodeBench::demo() / "loras/style-night.safetensors", bench_.root() / "models/checkpoints/lora.safetensors");
  const Error error = checkpoint_error("lora.safetensors");
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  expect_named(error, "ckpt_name", "lora.safetensors");
  EXPECT_THAT(std::string(error.find("looks_like")), HasSubstr("LoRA"));
}

TEST_F(LoaderNodes, SayThatACheckpointIsNoLora) {
  fs::copy_file(NodeBench::demo() / "checkpoints" / kModel, bench_.root() / "models/loras/checkpoint.safetensors");
  const std::vector<graph::Value> loaded = checkpoint(kModel);
  const Error error = bench_.error_of("LoraLoader", {{"model", loaded[0]}, {"clip", loaded[1]}, {"lora_name", text("checkpoint.safetensors")}});
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  expect_named(error, "lora_name", "checkpoint.safetensors");
}

TEST_F(LoaderNodes, SayWhatIsWrongWithADamagedFile) {
  std::ofstream(bench_.root() / "models/checkpoints/short.safetensors") << "not a model";
  const Error error = checkpoint_error("short.safetensors");
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  expect_named(error, "ckpt_name", "short.safetensors");
}

TEST_F(LoaderNodes, SayWhichTensorACheckpointLacks) {
  const std::string key = "model.diffusion_model.middle_block.1.norm.weight";
  write_checkpoint("checkpoints/holed.safetensors", [&](const std::string& name) { return name != key; });
  const Error error = checkpoint_error("holed.safetensors");
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  expect_named(error, "ckpt_name", "holed.safetensors");
  EXPECT_THAT(error.what(), HasSubstr("middle_block.1.norm.weight"));
}

TEST_F(LoaderNodes, NameTheNearestFilesForOneThatIsMissing) {
  const Error error = checkpoint_error("shapes-sd-tinny.safetensors");
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  expect_named(error, "ckpt_name", kModel);
}

TEST_F(LoaderNodes, RefuseNamesOutsideOfTheFolder) {
  for (const std::string name : {"../loras/style-night.safetensors", "/etc/passwd", "..\\checkpoints\\x.safetensors"}) {
    EXPECT_EQ(checkpoint_error(name).code(), ErrorCode::invalid) << name;
  }
}

TEST_F(LoaderNodes, GiveNothingForAPartThatTheCheckpointLacks) {
  write_checkpoint("checkpoints/bare.safetensors", [](const std::string& name) { return name.starts_with("model.diffusion_model."); });
  const std::vector<graph::Value> loaded = checkpoint("bare.safetensors");
  EXPECT_FALSE(loaded[0].is_none());
  EXPECT_TRUE(loaded[1].is_none());
  EXPECT_TRUE(loaded[2].is_none());

  const Error text_error = bench_.error_of("CLIPTextEncode", {{"clip", loaded[1]}, {"text", text("a moon")}});
  EXPECT_EQ(text_error.find("input"), "clip");
  EXPECT_THAT(text_error.text(), HasSubstr("the checkpoint holds none"));
  EXPECT_THAT(bench_.error_of("CLIPSetLastLayer", {{"clip", loaded[1]}}).text(), HasSubstr("the checkpoint holds none"));
  const Error vae_error = bench_.error_of("VAEDecode", {{"vae", loaded[2]}});
  EXPECT_EQ(vae_error.find("input"), "vae");
  EXPECT_THAT(vae_error.text(), HasSubstr("the checkpoint holds none"));
}

TEST_F(LoaderNodes, TakeAnAutoencoderOfItsOwn) {
  write_checkpoint("vae/alone.safetensors", [](const std::string& name) { return name.starts_with("first_stage_model."); });
  EXPECT_EQ(bench_.run("VAELoader", {{"vae_name", text("alone.safetensors")}}).size(), 1U);
  fs::copy_file(NodeBench::demo() / "loras/style-night.safetensors", bench_.root() / "models/vae/lora.safetensors");
  const Error error = bench_.error_of("VAELoader", {{"vae_name", text("lora.safetensors")}});
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  expect_named(error, "vae_name", "lora.safetensors");
}

TEST_F(LoaderNodes, RefuseAPromptWithAnEmbeddingThatDoesNotExist) {
  const std::vector<graph::Value> loaded = checkpoint(kModel);
  const Error error = bench_.error_of("CLIPTextEncode", {{"clip", loaded[1]}, {"text", text("a embedding:nowhere moon")}});
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  expect_named(error, "text", "nowhere");
}

TEST_F(LoaderNodes, NoticeThatAFileWasReplaced) {
  const fs::path file = bench_.root() / "models/loras/mine.safetensors";
  fs::copy_file(NodeBench::demo() / "loras/style-night.safetensors", file);
  const std::string before = bench_.store->file_version("loras", "mine.safetensors");
  EXPECT_EQ(bench_.store->file_version("loras", "mine.safetensors"), before);
  fs::copy_file(NodeBench::demo() / "loras/style-outline.safetensors", bench_.root() / "next");
  fs::rename(bench_.root() / "next", file);
  EXPECT_NE(bench_.store->file_version("loras", "mine.safetensors"), before);
}

}  // namespace
}  // namespace veneer::nodes
