#include "plugins/find_plugins.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "plugins/load_plugins.h"
#include "veneer/error.h"

namespace veneer::plugins {
namespace {

namespace fs = std::filesystem;

class FindPlugins : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "veneer_plugins_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "no library";
    fs::permissions(folder_ / name, fs::perms::owner_all | fs::perms::group_read);
  }
  std::string refusal_of(const std::string& name) const {
    for (const Candidate& candidate : find_plugins(folder_)) {
      if (candidate.name == name) return candidate.refused;
    }
    return "it was not found";
  }
  fs::path folder_;
};

TEST_F(FindPlugins, TakesLibrariesAndFoldersOfTheirNameInOrder) {
  for (const char* name : {"b.so", "a/a.so", "readme.txt", ".hidden.so", "off.so.disabled", "gone.disabled/gone.so", "__pycache__/x.so"}) write(name);
  const std::vector<Candidate> found = find_plugins(folder_);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "a");
  EXPECT_EQ(found[0].file, folder_ / "a" / "a.so");
  EXPECT_EQ(found[1].name, "b");
  EXPECT_EQ(found[0].refused + found[1].refused, "");
}

TEST_F(FindPlugins, RefusesFoldersWithoutTheirLibrary) {
  write("python/__init__.py");
  write("empty/other.so");
  EXPECT_NE(refusal_of("python").find("Python"), std::string::npos);
  EXPECT_NE(refusal_of("empty").find("empty.so"), std::string::npos);
}

TEST_F(FindPlugins, RefusesWhatEverybodyMayWriteTo) {
  write("open.so");
  write("shut.so");
  write("wide/wide.so");
  fs::permissions(folder_ / "open.so", fs::perms::others_write, fs::perm_options::add);
  fs::permissions(folder_ / "wide", fs::perms::others_write, fs::perm_options::add);
  fs::create_symlink(folder_ / "open.so", folder_ / "link.so");
  for (const char* name : {"open", "wide", "link"}) EXPECT_NE(refusal_of(name).find("everybody may write"), std::string::npos) << name;
  EXPECT_EQ(refusal_of("shut"), "");
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(refusal_of("shut").find("everybody may write"), std::string::npos);
}

TEST_F(FindPlugins, RefusesFoldersAboveInWhichEverybodyMayReplaceThings) {
  write("above/folder/shut.so");
  const fs::path inner = folder_ / "above" / "folder";
  const auto refusal = [&] { return find_plugins(inner).front().refused; };
  EXPECT_EQ(refusal(), "");
  fs::permissions(folder_ / "above", fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(refusal().find("everybody may write"), std::string::npos);
  fs::permissions(folder_ / "above", fs::perms::sticky_bit, fs::perm_options::add);
  EXPECT_EQ(refusal(), "") << "what is in a sticky folder may be replaced by its owner alone";
}

TEST_F(FindPlugins, TakesRegularFilesOnly) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe.so").c_str(), 0600), 0);
  fs::create_symlink(folder_ / "pipe.so", folder_ / "linked.so");
  fs::create_symlink(folder_ / "nowhere", folder_ / "dangling.so");
  EXPECT_NE(refusal_of("pipe").find("no regular file"), std::string::npos);
  EXPECT_NE(refusal_of("linked").find("no regular file"), std::string::npos);
  EXPECT_NE(refusal_of("dangling").find("leads nowhere"), std::string::npos);
}

TEST_F(FindPlugins, AFolderThatIsNotThereIsAnError) { EXPECT_THROW(find_plugins(folder_ / "nowhere"), Error); }

TEST_F(FindPlugins, LoadingRefusesByNameAndGoesOn) {
  write("one.so");
  write("one/one.so");
  write("two.so");
  const Loaded loaded = load_plugins({.folders = {folder_.string()}, .probe = {}}, [](const std::string&) { return false; });
  EXPECT_TRUE(loaded.nodes.empty());
  ASSERT_EQ(loaded.reports.size(), 3U);
  for (const Report& report : loaded.reports) EXPECT_NE(report.refused.find("it cannot be loaded"), std::string::npos) << report.refused;
}

}  // namespace
}  // namespace veneer::plugins
