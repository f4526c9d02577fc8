#include "nodes/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

class InputFiles : public ::testing::Test {
 protected:
  InputFiles() : folders_{directory_.path() / "in", directory_.path() / "out", directory_.path() / "temp"} {
    for (const char* name : {"in/sub", "out", "temp"}) fs::create_directories(directory_.path() / name);
    for (const char* name : {"in/cat.png", "in/sub/dog.JPG", "in/notes.txt", "out/cat.png", "temp/t.png", "secret.png"}) {
      std::ofstream(directory_.path() / name) << name;
    }
  }
  // The path below the test's directory, or the rule that was broken.
  std::string resolved(const std::string& name) const {
    try {
      return resolve_input_file(folders_, name).lexically_relative(directory_.path()).string();
    } catch (const Error& error) {
      return std::string(to_string(error.code()));
    }
  }

  formats::TempDirectory directory_;
  ImageFolders folders_;
};

TEST_F(InputFiles, AreFoundByNameSubFolderAndNote) {
  EXPECT_EQ(resolved("cat.png"), "in/cat.png");
  EXPECT_EQ(resolved("sub/dog.JPG"), "in/sub/dog.JPG");
  EXPECT_EQ(resolved("sub\\dog.JPG"), "in/sub/dog.JPG");
  EXPECT_EQ(resolved("cat.png [input]"), "in/cat.png");
  EXPECT_EQ(resolved("cat.png [output]"), "out/cat.png");
  EXPECT_EQ(resolved("t.png [temp]"), "temp/t.png");
}

TEST_F(InputFiles, OutsideOfTheFolderAreRefused) {
  for (const std::string name : {"../secret.png", "sub/../../secret.png", "..\\secret.png", "../secret.png [output]", ""}) {
    EXPECT_EQ(resolved(name), "invalid") << name;
  }
  EXPECT_EQ(resolved((directory_.path() / "in/cat.png").string()), "invalid");
  EXPECT_EQ(resolved(std::string("cat.png\0.txt", 12)), "invalid");
  EXPECT_EQ(resolved(" [output]"), "invalid");
}

TEST_F(InputFiles, BehindALinkThatLeadsOutAreRefused) {
  fs::create_symlink(directory_.path() / "secret.png", directory_.path() / "in/link.png");
  fs::create_directory_symlink(directory_.path(), directory_.path() / "in/up");
  fs::create_symlink("cat.png", directory_.path() / "in/alias.png");
  EXPECT_EQ(resolved("link.png"), "invalid");
  EXPECT_EQ(resolved("up/secret.png"), "invalid");
  EXPECT_EQ(resolved("alias.png"), "in/alias.png");
}

TEST_F(InputFiles, ThatAreNoFileAreNotFound) {
  EXPECT_EQ(resolved("dog.png"), "not_found");
  EXPECT_EQ(resolved("sub"), "not_found");
  EXPECT_EQ(resolved("cat.png/x"), "not_found");
  EXPECT_EQ(resolved("cat.png [nowhere]"), "not_found");
}

TEST_F(InputFiles, AreListedSortedWithoutSubFolders) {
  std::ofstream(directory_.path() / "in/Ape.WEBP") << "x";
  EXPECT_THAT(list_input_files(folders_, true), ::testing::ElementsAre("Ape.WEBP", "cat.png"));
  EXPECT_THAT(list_input_files(folders_, false), ::testing::ElementsAre("Ape.WEBP", "cat.png", "notes.txt"));
  fs::remove_all(folders_.input);
  EXPECT_TRUE(list_input_files(folders_, false).empty());
}

}  // namespace
}  // namespace veneer::nodes
