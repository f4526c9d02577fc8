#include <gtest/gtest.h>

#include "formats/model_file.h"
#include "formats/safetensors.h"
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
  TempDirectory directory_;
};

TEST_F(ShardedFile, IsOneModel) {
  const std::string index = R"({"metadata":{"total_size":8},"weight_map":{"b":"model-2.safetensors","a":"model-1.safetensors"}})";
  const ModelFile file = ModelFile::open(directory_.write("m.safetensors.index.json", index));
  EXPECT_EQ(file.format(), "sharded safetensors");
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.entries()[0].name, "b");
  EXPECT_EQ(file.tensor("a").floats()[0], 1.0F);
  EXPECT_EQ(file.tensor("b").floats()[0], 2.0F);
  EXPECT_EQ(file.metadata().at("author"), "x");
  EXPECT_EQ(file.files().size(), 2u);
  EXPECT_EQ(file.place(file.tensor("b"))->file, directory_.path() / "model-2.safetensors");
}

TEST_F(ShardedFile, ShardsElsewhereAreRefused) {
  for (const char* name : {"../model-1.safetensors", "/etc/passwd", "", "..", "sub/model-1.safetensors"}) {
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
}

}  // namespace
}  // namespace veneer::formats
