#include "registry/extra_model_paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "veneer/error.h"

namespace veneer::registry {
namespace {

namespace fs = std::filesystem;

class ExtraModelPathsTest : public ::testing::Test {
 protected:
  ExtraModelPathsTest() {
    std::string pattern = (fs::temp_directory_path() / "veneer-paths-XXXXXX").string();
    root = mkdtemp(pattern.data());
  }
  ~ExtraModelPathsTest() override { fs::remove_all(root); }

  ModelFolders read(const std::string& text) const {
    std::ofstream(root / "extra.yaml") << text;
    const fs::path roots[] = {"/first"};
    ModelFolders folders(roots);
    add_extra_model_paths(folders, root / "extra.yaml", "/home/me");
    return folders;
  }
  std::string refusal(const std::string& text) const {
    try {
      read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  fs::path root;
};

TEST_F(ExtraModelPathsTest, ReadsSectionsAsComfyUIWritesThem) {
  const ModelFolders folders = read(
      "a111:\n    base_path: /sd/webui\n    checkpoints: models/Stable-diffusion\n    loras: |\n         models/Lora\n         models/LyCORIS\n"
      "    clip: models/clip\nempty:\nmine:\n    base_path: ~/models\n    loras: more\n    custom_nodes: nodes\n    strange: here\n");
  const auto& loras = folders.folders("loras");
  EXPECT_EQ(loras, (std::vector<fs::path>{"/first/loras", "/sd/webui/models/Lora", "/sd/webui/models/LyCORIS", "/home/me/models/more"}));
  EXPECT_EQ(folders.folders("checkpoints").back(), "/sd/webui/models/Stable-diffusion");
  EXPECT_EQ(folders.folders("text_encoders").back(), "/sd/webui/models/clip");
  EXPECT_EQ(folders.folders("strange").back(), "/home/me/models/here");
  EXPECT_THROW(folders.folders("custom_nodes"), Error);
}

TEST_F(ExtraModelPathsTest, ADefaultSectionIsSearchedFirstAndRelativeBasesBeginAtTheFile) {
  const ModelFolders folders = read("s:\n  base_path: sub\n  is_default: true\n  vae: v\n");
  EXPECT_EQ(folders.folders("vae").front(), root / "sub/v");
}

TEST_F(ExtraModelPathsTest, RefusesWhatBreaksTheRulesNamingTheSection) {
  EXPECT_NE(refusal("- a\n- b\n").find("no map of sections"), std::string::npos);
  EXPECT_NE(refusal("s: [1]\n").find("section=s"), std::string::npos);
  EXPECT_NE(refusal("s:\n  vae: {a: b}\n").find("section=s"), std::string::npos);
  EXPECT_NE(refusal("s: [1\n").find("no YAML"), std::string::npos);
  EXPECT_EQ(refusal(""), "accepted");
  EXPECT_THROW(
      {
        ModelFolders folders(std::span<const fs::path>{});
        add_extra_model_paths(folders, root / "none.yaml");
      },
      Error);
}

}  // namespace
}  // namespace veneer::registry
