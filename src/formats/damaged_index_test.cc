// An index of shards cut at every byte and with each bit flipped in turn.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "formats/model_file.h"
#include "formats/safetensors.h"
#include "formats/testing/model_files.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr const char* kIndex = R"({"weight_map":{"a":"m-1-of-2.safetensors","b":"m-2-of-2.safetensors"}})";

class DamagedIndex : public ::testing::Test {
 protected:
  void SetUp() override {
    using Tensors = std::vector<std::pair<std::string, Tensor>>;
    const Tensors first = {{"a", Tensor::from({1}, std::vector<float>{1})}}, second = {{"b", Tensor::from({1}, std::vector<float>{2})}};
    write_safetensors(folder_.path() / "m-1-of-2.safetensors", first);
    write_safetensors(folder_.path() / "m-2-of-2.safetensors", second);
  }
  // The tensors' bytes, or nothing for an error, which names a file.
  std::vector<std::string> content(const std::string& index) {
    try {
      return tensor_bytes(ModelFile::open(folder_.write("m.safetensors.index.json", index)));
    } catch (const Error& error) {
      EXPECT_NE(error.find("file"), "") << index << ": " << error.what();
      return {};
    }
  }
  TempDirectory folder_;
};

TEST_F(DamagedIndex, CutAnywhereIsAnError) {
  const std::string whole = kIndex;
  ASSERT_EQ(content(whole).size(), 2U);
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_TRUE(content(whole.substr(0, size)).empty()) << size;
}

TEST_F(DamagedIndex, AFlippedBitIsAnErrorOrLeavesTheContent) {
  std::string bytes = kIndex;
  const std::vector<std::string> good = content(bytes);
  size_t errors = 0;
  for (char& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      const std::vector<std::string> now = content(bytes);
      EXPECT_TRUE(now.empty() || now == good) << bytes;
      errors += now.empty() ? 1 : 0;
      byte = static_cast<char>(byte ^ (1 << bit));
    }
  }
  EXPECT_GT(errors, bytes.size() * 4);
}

}  // namespace
}  // namespace veneer::formats
