#include "nodes/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "formats/image_file.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

Tensor pictures(int64_t count) { return Tensor::zeros({count, 6, 10, 3}, DType::f32); }

class SaveImages : public ::testing::Test {
 protected:
  SaveRequest request(std::string prefix) const {
    return {.folder = directory_.path() / "out", .type = "output", .filename_prefix = std::move(prefix), .prompt = nullptr, .extra_pnginfo = nullptr};
  }
  // "subfolder|filename" of every picture.
  std::vector<std::string> save(const std::string& prefix, int64_t count = 1) const {
    std::vector<std::string> out;
    const graph::Json record = save_images(request(prefix), pictures(count));
    for (const graph::Json& image : record.at("images")) {
      out.push_back(image.at("subfolder").get<std::string>() + "|" + image.at("filename").get<std::string>());
      EXPECT_TRUE(
          fs::is_regular_file(directory_.path() / "out" / image.at("subfolder").get<std::string>() / image.at("filename").get<std::string>()));
    }
    return out;
  }
  std::string refusal(const std::string& prefix) const {
    try {
      save_images(request(prefix), pictures(1));
    } catch (const Error& error) {
      return error.text();
    }
    return "saved";
  }
  void touch(const std::string& name) const {
    fs::create_directories(directory_.path() / "out");
    std::ofstream(directory_.path() / "out" / name) << "x";
  }

  formats::TempDirectory directory_;
};

using ::testing::ElementsAre;

TEST_F(SaveImages, CountsOnFromTheHighestNumber) {
  EXPECT_THAT(save("a", 2), ElementsAre("|a_00001_.png", "|a_00002_.png"));
  touch("a_00041_.png");
  touch("a_x_.png");
  touch("ab_00099_.png");
  EXPECT_THAT(save("a"), ElementsAre("|a_00042_.png"));
}

TEST_F(SaveImages, ANumberTooLongIsNoCounter) {
  touch("a_99999999999999999999_.png");
  EXPECT_THAT(save("a"), ElementsAre("|a_00001_.png"));
  touch("a_123456_.png");
  EXPECT_THAT(save("a"), ElementsAre("|a_123457_.png"));
}

TEST_F(SaveImages, UpperAndLowerCaseAreOnePrefix) {
  touch("Cat_00007_.png");
  EXPECT_THAT(save("cat"), ElementsAre("|cat_00008_.png"));
}

TEST_F(SaveImages, PutsPicturesIntoSubFolders) {
  EXPECT_THAT(save("x/y/pic"), ElementsAre("x/y|pic_00001_.png"));
  EXPECT_THAT(save("x\\y\\pic"), ElementsAre("x/y|pic_00002_.png"));
  EXPECT_THAT(save("./x/../pic"), ElementsAre("|pic_00001_.png"));
  EXPECT_THAT(save("dir/"), ElementsAre("|dir_00001_.png"));
  EXPECT_THAT(save(""), ElementsAre("|._00001_.png"));
}

TEST_F(SaveImages, FillsPlaceholders) {
  EXPECT_THAT(save("%width%x%height%", 1), ElementsAre("|10x6_00001_.png"));
  EXPECT_THAT(save("n_%batch_num%", 2), ElementsAre("|n_0_00001_.png", "|n_1_00002_.png"));
  EXPECT_THAT(save("%year%-%month%-%day%_%hour%%minute%%second%"),
              ElementsAre(::testing::MatchesRegex("\\|[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{6}_00001_.png")));
  EXPECT_THAT(save("%unknown%"), ElementsAre("|%unknown%_00001_.png"));
}

TEST_F(SaveImages, RefusesToLeaveTheFolder) {
  for (const std::string prefix : {"../up", "/tmp/abs", "a/../../up", "..", "..\\up", "\\abs", "a/b/../../../up"}) {
    EXPECT_EQ(refusal(prefix), "save: the prefix leaves the output folder") << prefix;
  }
  EXPECT_EQ(refusal(std::string("a\0b", 3)), "save: the prefix holds a zero byte");
  EXPECT_FALSE(fs::exists(directory_.path() / "up_00001_.png"));
}

TEST_F(SaveImages, RefusesALinkThatLeadsOut) {
  fs::create_directories(directory_.path() / "out");
  fs::create_directories(directory_.path() / "secret");
  fs::create_directory_symlink(directory_.path() / "secret", directory_.path() / "out/link");
  EXPECT_EQ(refusal("link/pic"), "save: the prefix leaves the output folder");
  EXPECT_EQ(refusal("link/deeper/pic"), "save: the prefix leaves the output folder");
  EXPECT_TRUE(fs::is_empty(directory_.path() / "secret"));
}

TEST_F(SaveImages, FollowsALinkThatStaysInside) {
  fs::create_directories(directory_.path() / "out/real");
  fs::create_directory_symlink("real", directory_.path() / "out/link");
  EXPECT_THAT(save("link/pic"), ElementsAre("link|pic_00001_.png"));
}

TEST_F(SaveImages, NeverWritesOverAFile) {
  touch("pic_00001_.png");
  // A dangling link is a name that is taken as well.
  fs::create_symlink(directory_.path() / "elsewhere", directory_.path() / "out/pic_00002_.png");
  EXPECT_THAT(save("pic"), ElementsAre("|pic_00003_.png"));
  EXPECT_FALSE(fs::exists(directory_.path() / "elsewhere"));
}

TEST_F(SaveImages, SaysWhichFolderCannotBeMade) {
  std::ofstream(directory_.path() / "out") << "a file where the folder should be";
  try {
    save_images(request("pic"), pictures(1));
    FAIL() << "saved into a file";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.find("folder")), ::testing::HasSubstr("out"));
    EXPECT_FALSE(error.find("reason").empty());
  }
}

TEST_F(SaveImages, WritesTheRecipeInOrder) {
  SaveRequest with_recipe = request("pic");
  with_recipe.prompt = {{"1", {{"class_type", "EmptyImage"}}}};
  with_recipe.extra_pnginfo = {{"workflow", {{"é", 1}}}, {"more", {1, "ü"}}};
  save_images(with_recipe, pictures(1));
  const formats::ImageBytes image = formats::read_image(directory_.path() / "out/pic_00001_.png");
  using Chunk = std::pair<std::string, std::string>;
  EXPECT_THAT(image.text, ElementsAre(Chunk("prompt", R"({"1": {"class_type": "EmptyImage"}})"), Chunk("workflow", R"({"\u00e9": 1})"),
                                      Chunk("more", R"([1, "\u00fc"])")));
}

TEST_F(SaveImages, RefusesWhatIsNoPicture) {
  EXPECT_THROW(save_images(request("pic"), Tensor::zeros({6, 10, 3}, DType::f32)), Error);
  EXPECT_THROW(save_images(request("pic"), Tensor::zeros({1, 6, 10, 3}, DType::f16)), Error);
  EXPECT_THROW(save_images(request("pic"), Tensor::zeros({1, 6, 10, 2}, DType::f32)), Error);
}

}  // namespace
}  // namespace veneer::nodes
