#include "nodes/model_store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "nodes/testing/node_bench.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

class ModelStoreTest : public ::testing::Test {
 protected:
  ModelStoreTest() { put("style-night.safetensors"); }
  // Puts a copy of a LoRA of the demo in place of the file, at once.
  void put(const char* lora) {
    fs::copy_file(NodeBench::demo() / "loras" / lora, bench_.root() / "next", fs::copy_options::overwrite_existing);
    fs::rename(bench_.root() / "next", file_);
  }
  std::string first_byte() {
    const formats::ModelFile opened = store().lora(kName);
    std::string bytes;
    for (const auto& entry : opened.entries()) bytes += std::to_string(std::to_integer<int>(opened.tensor(entry.name).byte_span().front())) + " ";
    return bytes;
  }
  ModelStore& store() { return *bench_.store; }

  static constexpr const char* kName = "mine.safetensors";
  NodeBench bench_;
  fs::path file_ = bench_.root() / "models/loras" / kName;
};

TEST_F(ModelStoreTest, APromptKeepsToWhatANameStoodForWhenItBegan) {
  const std::string night = first_byte();
  std::string version;
  {
    const ModelStore::PromptScope prompt(store());
    version = store().file_version("loras", kName);
    put("style-outline.safetensors");
    EXPECT_EQ(store().file_version("loras", kName), version);
    EXPECT_EQ(first_byte(), night) << "the content of the file that was there";
    EXPECT_NO_THROW(store().require_intact());
  }
  EXPECT_NE(store().file_version("loras", kName), version);
  EXPECT_NE(first_byte(), night);
}

TEST_F(ModelStoreTest, APromptMayLoadAFileThatIsGone) {
  const std::string night = first_byte();
  const ModelStore::PromptScope prompt(store());
  store().file_version("loras", kName);
  fs::remove(file_);
  EXPECT_EQ(first_byte(), night);
}

TEST_F(ModelStoreTest, AFileThatIsWrittenOverWhileAPromptUsesItIsTold) {
  const ModelStore::PromptScope prompt(store());
  first_byte();
  std::ofstream(file_, std::ios::app) << "x";
  try {
    store().require_intact();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_EQ(error.find("name"), kName);
  }
}

TEST_F(ModelStoreTest, ABindingServesWhileTheFileIsNoModelAndGoesWithTheFile) {
  store().bind(store().open("loras", kName, false), "hash");
  const std::string version = store().file_version("loras", kName);
  std::ofstream(bench_.root() / "next") << "no model at all";
  fs::rename(bench_.root() / "next", file_);
  EXPECT_EQ(store().file_version("loras", kName), version);
  EXPECT_NE(store().binding("loras", kName)->fault, "");
  put("style-outline.safetensors");
  EXPECT_NE(store().file_version("loras", kName), version) << "a good file takes the name";
  fs::remove(file_);
  EXPECT_THROW(store().file_version("loras", kName), Error);
  EXPECT_FALSE(store().binding("loras", kName));
}

TEST_F(ModelStoreTest, NamesAreOneWhateverTheirSeparators) {
  fs::create_directories(bench_.root() / "models/loras/sub");
  fs::copy_file(file_, bench_.root() / "models/loras/sub/a.safetensors");
  store().bind(store().open("loras", "sub\\a.safetensors", false), "hash");
  EXPECT_TRUE(store().unbind("loras", "sub//a.safetensors"));
  EXPECT_FALSE(store().unbind("loras", "sub/a.safetensors"));
}

TEST_F(ModelStoreTest, AFileOfAnAdapterThatChangedIsStaleOnce) {
  first_byte();
  EXPECT_TRUE(store().take_stale().empty());
  put("style-outline.safetensors");
  EXPECT_TRUE(store().take_stale().adapters);
  EXPECT_TRUE(store().take_stale().empty());
}

}  // namespace
}  // namespace veneer::nodes
