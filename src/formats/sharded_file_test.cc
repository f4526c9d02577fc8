#include <gtest/gtest.h>

#include "formats/model_file.h"
#include "formats/safetensors.h"
#include "formats/sha256.h"
#include "formats/shard_index.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

class ShardedFile : public ::testing::Test {
 protected:
  ShardedFile() {
    write("model-1.safetensors", "a", 1, {{"author", "x"}});
    write("model-2.safetensors", "b", 2, {});
  }
  void write(const char* file, const char* name, float value, const std::map<std::string, std::string>& metadata) const {
    const std::vector<std::pair<std::string, Tensor>> tensors = {{name, Tensor::from({1}, std::vector<float>{value})}};
    write_safetensors(directory_.path() / file, tensors, metadata);
  }
  std::string error_of(const std::string& index) const {
    try {
      (void)ModelFile::open(directory_.write("m.safetensors.index.json", index));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  static constexpr const char* kIndex = R"({"metadata":{"total_size":8},"weight_map":{"b":"model-2.safetensors","a":"model-1.safetensors"}})";
  TempDirectory directory_;
};

TEST_F(ShardedFile, IsOneModel) {
  const ModelFile file = ModelFile::open(directory_.write("m.safetensors.index.json", kIndex));
  EXPECT_EQ(file.format(), "sharded safetensors");
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.entries()[0].name, "b");
  EXPECT_EQ(file.tensor("a").floats()[0], 1.0F);
  EXPECT_EQ(file.tensor("b").floats()[0], 2.0F);
  EXPECT_EQ(file.metadata().at("author"), "x");
  EXPECT_EQ(file.files(), files_of_model(directory_.path() / "m.safetensors.index.json"));
  EXPECT_EQ(file.files().size(), 3u);
  EXPECT_EQ(file.place(file.tensor("b"))->file, directory_.path() / "model-2.safetensors");
}

TEST_F(ShardedFile, ShardsElsewhereAreRefused) {
  for (const char* name : {"../model-1.safetensors", "/etc/passwd", "", "..", "sub/model-1.safetensors", "a\\nb.safetensors"}) {
    EXPECT_NE(error_of(R"({"weight_map":{"a":")" + std::string(name) + R"("}})").find("not the name of a file beside the index"), std::string::npos)
        << name;
  }
}

TEST_F(ShardedFile, DisagreementIsAnErrorThatNamesTheTensor) {
  const std::string lacks = error_of(R"({"weight_map":{"c":"model-1.safetensors"}})");
  EXPECT_NE(lacks.find("shard has no such tensor"), std::string::npos) << lacks;
  EXPECT_NE(lacks.find("tensor=c"), std::string::npos) << lacks;
  EXPECT_NE(error_of(R"({"weight_map":{"a":"model-3.safetensors"}})").find("model-3.safetensors"), std::string::npos);
  EXPECT_NE(error_of(R"({"weight_map":[]})").find("weight_map"), std::string::npos);
  EXPECT_NE(error_of(R"({"weight_map":{"a":1}})").find("not the name"), std::string::npos);
  EXPECT_NE(error_of(R"({"weight_map":{}})").find("names no tensor"), std::string::npos);
  EXPECT_NE(error_of("{").find("weight_map"), std::string::npos);
  EXPECT_NE(error_of(std::string(200'000, '{')).find("weight_map"), std::string::npos);
  EXPECT_NE(error_of("{\"a\":" + std::string(200'000, '[')).find("weight_map"), std::string::npos);
  EXPECT_NE(error_of(R"({"metadata":{"weight_map":{"a":"model-1.safetensors"}}})").find("weight_map"), std::string::npos);
  EXPECT_NE(error_of(R"({"weight_map":{"a":"model-1.safetensors","a":"model-1.safetensors"}})").find("there twice"), std::string::npos);
  EXPECT_NE(error_of(R"({"weight_map":{"a":"model-1.safetensors"},"weight_map":{}})").find("there twice"), std::string::npos);
  EXPECT_NE(error_of(R"({"weight_map":{"a":{"b":"model-1.safetensors"}}})").find("not the name"), std::string::npos);
}

TEST_F(ShardedFile, ATensorThatTheIndexDoesNotNameIsAnError) {
  const std::vector<std::pair<std::string, Tensor>> two = {{"a", Tensor::zeros({1}, DType::f32)}, {"more", Tensor::zeros({1}, DType::f32)}};
  write_safetensors(directory_.path() / "model-1.safetensors", two);
  const std::string error = error_of(kIndex);
  EXPECT_NE(error.find("does not name"), std::string::npos) << error;
  EXPECT_NE(error.find("tensor=more"), std::string::npos) << error;
  EXPECT_NE(error.find("shard=model-1.safetensors"), std::string::npos) << error;
}

TEST_F(ShardedFile, WhatElseAnIndexSaysIsPassedOver) {
  EXPECT_EQ(error_of(R"({"weight_map":{"b":"model-2.safetensors"},"metadata":[1,-1,0.5,null,true,"x",{"weight_map":{"q":[{}]}}],"x":{}})"),
            "accepted");
}

// As sha256sum prints the lines.
TEST_F(ShardedFile, TheHashIsOfTheIndexAndEveryShard) {
  const std::filesystem::path index = directory_.write("m.safetensors.index.json", kIndex);
  const std::vector<std::filesystem::path> files = files_of_model(index);
  ASSERT_EQ(files.size(), 3u);
  std::vector<std::string> hashes;
  hashes.reserve(files.size());
  for (const std::filesystem::path& file : files) hashes.push_back(sha256_hex_of_file(file));
  const std::string lines = hashes[0] + "  -\n" + hashes[1] + "  model-1.safetensors\n" + hashes[2] + "  model-2.safetensors\n";
  EXPECT_EQ(sha256_of_model(files, hashes), sha256_hex(std::as_bytes(std::span(lines))));
  EXPECT_EQ(sha256_of_model(std::span(files).first(1), std::span(hashes).first(1)), hashes[0]);
}

TEST_F(ShardedFile, ALinkedIndexFindsItsShardsBesideTheLinkOrItsTarget) {
  const std::filesystem::path index = directory_.write("m.safetensors.index.json", kIndex);
  std::filesystem::create_directories(directory_.path() / "links");
  const std::filesystem::path link = directory_.path() / "links/key";
  std::filesystem::create_symlink("../m.safetensors.index.json", link);
  EXPECT_EQ(ModelFile::open(link).tensor("b").floats()[0], 2.0F);
  std::filesystem::create_symlink(directory_.path() / "model-1.safetensors", directory_.path() / "links/model-1.safetensors");
  EXPECT_THROW((void)ModelFile::open(link), Error);  // a model is in one folder
  std::filesystem::create_symlink(directory_.path() / "model-2.safetensors", directory_.path() / "links/model-2.safetensors");
  EXPECT_EQ(ModelFile::open(link).tensor("b").floats()[0], 2.0F);
}

TEST_F(ShardedFile, ShardsOfAnotherVersionAreStray) {
  const std::string index = R"({"weight_map":{"a":"m-00001-of-00002.safetensors","b":"m-00002-of-00002.safetensors"}})";
  for (const char* name : {"m-00003-of-00003.safetensors", "m-1-of-2.safetensors", "other-00001-of-00002.safetensors", "m-00001.safetensors"}) {
    (void)directory_.write(name, "x");
  }
  const auto stray = stray_shards(directory_.write("m.safetensors.index.json", index));
  ASSERT_EQ(stray.size(), 2u);
  EXPECT_EQ(stray[0].filename(), "m-00003-of-00003.safetensors");
  EXPECT_EQ(stray[1].filename(), "m-1-of-2.safetensors");
}

TEST_F(ShardedFile, OtherFilesAreModelsOfOneFile) {
  for (const char* text : {"{}", "{\"a\":1}", "", "\x7b\0\0\0\0\0\0\0{}"}) {
    const auto file = directory_.write("config.json", text);
    EXPECT_EQ(files_of_model(file), std::vector{file});
  }
  EXPECT_THROW((void)files_of_model(directory_.write("x.SAFETENSORS.index.json", "{}")), Error);
}

}  // namespace
}  // namespace veneer::formats
