#include "registry/model_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::registry {
namespace {

using formats::TempDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

ModelFolders folders_in(const TempDirectory& dir) { return ModelFolders(std::vector<fs::path>{dir.path()}); }

// The error's text, its code in front; "" when the name is found.
std::string refusal(const ModelFolders& folders, std::string_view kind, std::string_view name) {
  try {
    (void)folders.resolve(kind, name);
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + " " + error.what();
  }
  return "";
}

TEST(ModelFolders, ListsFilesOfTheKindSortedWithForwardSlashes) {
  const TempDirectory dir;
  dir.write("loras/z.safetensors", "");
  dir.write("loras/people/b.SafeTensors", "");
  dir.write("loras/people/deep/c.ckpt", "");
  dir.write("loras/notes.txt", "");
  dir.write("checkpoints/other.safetensors", "");
  EXPECT_THAT(folders_in(dir).list("loras"), ElementsAre("people/b.SafeTensors", "people/deep/c.ckpt", "z.safetensors"));
}

TEST(ModelFolders, TakesTheExtensionsOfWeightFiles) {
  const TempDirectory dir;
  std::vector<std::string> want;
  for (const char* name : {"a.safetensors", "b.sft", "c.ckpt", "d.pt", "e.pt2", "f.pth", "g.bin", "h.pkl", "i.gguf"}) {
    dir.write(std::string("vae/") + name, "");
    want.push_back(name);
  }
  for (const char* name : {"j.zip", "k", "safetensors", "m.safetensors.part"}) dir.write(std::string("vae/") + name, "");
  EXPECT_EQ(folders_in(dir).list("vae"), want);
}

TEST(ModelFolders, AModelInShardsIsItsIndex) {
  const TempDirectory dir;
  const ModelFolders folders = folders_in(dir);
  const fs::path index = dir.write("vae/m.safetensors.index.json", R"({"weight_map":{"a":"m-1-of-2.safetensors","b":"m-2-of-2.safetensors"}})");
  for (const char* name : {"m-1-of-2.safetensors", "m-2-of-2.safetensors", "m-3-of-3.safetensors", "sub/m-1-of-2.safetensors", "config.json"}) {
    dir.write(std::string("vae/") + name, "");
  }
  EXPECT_THAT(folders.list("vae"), ElementsAre("m-3-of-3.safetensors", "m.safetensors.index.json", "sub/m-1-of-2.safetensors"));
  EXPECT_EQ(folders.resolve("vae", "m.safetensors.index.json"), index);
  const fs::path first = index.parent_path() / "m-1-of-2.safetensors";
  EXPECT_THAT(folders.files(index), ElementsAre(index, first, index.parent_path() / "m-2-of-2.safetensors"));
  EXPECT_THAT(folders.files(first), ElementsAre(first));
  EXPECT_THAT(refusal(folders, "configs", "m.safetensors.index.json"), HasSubstr("not of this kind"));
}

TEST(ModelFolders, AnIndexHidesNoModelOfAnotherName) {
  const TempDirectory dir;
  for (const char* name : {"sdxl.safetensors", "m-1.safetensors", "m-1-of-1.safetensors", "x-of-y.safetensors"}) {
    dir.write(std::string("loras/") + name, "");
  }
  dir.write("loras/self.safetensors.index.json", R"({"weight_map":{"a":"self.safetensors.index.json","b":"sdxl.safetensors",
    "c":"m-1.safetensors","d":"m-1-of-1.safetensors","e":"x-of-y.safetensors"}})");
  EXPECT_THAT(folders_in(dir).list("loras"), ElementsAre("m-1.safetensors", "sdxl.safetensors", "self.safetensors.index.json", "x-of-y.safetensors"));
}

TEST(ModelFolders, AChangedIndexIsReadAgainAndABrokenOneHidesNothing) {
  const TempDirectory dir;
  const ModelFolders folders = folders_in(dir);
  dir.write("vae/m-1-of-1.safetensors", "");
  dir.write("vae/m.safetensors.index.json", R"({"weight_map":{"a":"m-1-of-1.safetensors"}})");
  EXPECT_THAT(folders.list("vae"), ElementsAre("m.safetensors.index.json"));
  const fs::path index = dir.write("vae/m.safetensors.index.json", "{\"broken\"");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(folders.list("vae"), ElementsAre("m-1-of-1.safetensors", "m.safetensors.index.json"));
    EXPECT_THROW((void)folders.files(index), Error);
  }
}

TEST(ModelFolders, EmbeddingsAreNamedWithoutTheirExtension) {
  const TempDirectory dir;
  const ModelFolders folders = folders_in(dir);
  dir.write("embeddings/a.pt", "");
  dir.write("embeddings/a.safetensors", "");
  dir.write("embeddings/sub/b.bin", "");
  EXPECT_EQ(folders.embedding_name("a"), "a.safetensors");
  EXPECT_EQ(folders.embedding_name("a.pt"), "a.pt");
  EXPECT_EQ(folders.embedding_name("sub\\b"), "sub\\b.bin");
  EXPECT_EQ(folders.embedding_name("c"), "");
  EXPECT_THROW((void)folders.embedding_name("../a"), Error);
}

TEST(ModelFolders, ListsNothingWhereThereIsNoFolder) {
  const TempDirectory dir;
  EXPECT_THAT(folders_in(dir).list("checkpoints"), IsEmpty());
}

TEST(ModelFolders, SeesNewFilesAtOnce) {
  const TempDirectory dir;
  const ModelFolders folders = folders_in(dir);
  EXPECT_THAT(folders.list("loras"), IsEmpty());
  dir.write("loras/a.safetensors", "");
  EXPECT_THAT(folders.list("loras"), ElementsAre("a.safetensors"));
}

TEST(ModelFolders, JoinsOldAndNewFoldersOfAKind) {
  const TempDirectory dir;
  dir.write("clip/l.safetensors", "");
  dir.write("text_encoders/t5.safetensors", "");
  dir.write("unet/u.safetensors", "");
  dir.write("diffusion_models/d.safetensors", "");
  const ModelFolders folders = folders_in(dir);
  EXPECT_THAT(folders.list("text_encoders"), ElementsAre("l.safetensors", "t5.safetensors"));
  EXPECT_EQ(folders.list("clip"), folders.list("text_encoders"));
  EXPECT_THAT(folders.list("unet"), ElementsAre("d.safetensors", "u.safetensors"));
  EXPECT_EQ(folders.resolve("unet", "d.safetensors"), dir.path() / "diffusion_models/d.safetensors");
  EXPECT_EQ(folders.resolve("text_encoders", "l.safetensors"), dir.path() / "clip/l.safetensors");
}

TEST(ModelFolders, EarlierRootsWinAndNamesAreListedOnce) {
  const TempDirectory first, second;
  first.write("loras/a.safetensors", "1");
  second.write("loras/a.safetensors", "2");
  second.write("loras/b.safetensors", "2");
  const ModelFolders folders(std::vector<fs::path>{first.path(), second.path()});
  EXPECT_THAT(folders.list("loras"), ElementsAre("a.safetensors", "b.safetensors"));
  EXPECT_EQ(folders.resolve("loras", "a.safetensors"), first.path() / "loras/a.safetensors");
  EXPECT_EQ(folders.resolve("loras", "b.safetensors"), second.path() / "loras/b.safetensors");
}

TEST(ModelFolders, AddedFoldersComeLastAndMayMakeAKind) {
  const TempDirectory dir, extra;
  extra.write("a.safetensors", "");
  extra.write("b.any", "");
  ModelFolders folders = folders_in(dir);
  folders.add_folder("unet", extra.path());
  folders.add_folder("ipadapter", extra.path());
  EXPECT_EQ(folders.folders("diffusion_models").back(), extra.path());
  EXPECT_THAT(folders.list("diffusion_models"), ElementsAre("a.safetensors"));
  EXPECT_THAT(folders.list("ipadapter"), ElementsAre("a.safetensors", "b.any"));
}

TEST(ModelFolders, ResolvesNamesWithEitherSeparator) {
  const TempDirectory dir;
  const fs::path file = dir.write("loras/people/deep/a.safetensors", "");
  const ModelFolders folders = folders_in(dir);
  for (const char* name : {"people/deep/a.safetensors", "people\\deep\\a.safetensors", "people/deep\\a.safetensors", "people//deep/a.safetensors"}) {
    EXPECT_EQ(folders.resolve("loras", name), file) << name;
  }
}

TEST(ModelFolders, RefusesNamesThatLeaveTheFolder) {
  const TempDirectory dir;
  dir.write("loras/a.safetensors", "");
  dir.write("outside.safetensors", "");
  const ModelFolders folders = folders_in(dir);
  EXPECT_THAT(refusal(folders, "loras", "../outside.safetensors"), HasSubstr("invalid model: name has a '.' or '..' part"));
  EXPECT_THAT(refusal(folders, "loras", "x\\..\\..\\outside.safetensors"), HasSubstr("'..' part"));
  EXPECT_THAT(refusal(folders, "loras", "x/.."), HasSubstr("'..' part"));
  EXPECT_THAT(refusal(folders, "loras", "./a.safetensors"), HasSubstr("'.' or"));
  EXPECT_THAT(refusal(folders, "loras", (dir.path() / "outside.safetensors").string()), HasSubstr("absolute path"));
  EXPECT_THAT(refusal(folders, "loras", "\\\\host\\share\\a.safetensors"), HasSubstr("absolute path"));
  EXPECT_THAT(refusal(folders, "loras", "C:\\models\\a.safetensors"), HasSubstr("drive letter"));
  EXPECT_THAT(refusal(folders, "loras", "c:a.safetensors"), HasSubstr("drive letter"));
  EXPECT_THAT(refusal(folders, "loras", ""), HasSubstr("empty"));
  EXPECT_THAT(refusal(folders, "loras", std::string_view("a.safetensors\0.png", 18)), HasSubstr("zero byte"));
}

TEST(ModelFolders, RefusesFilesOfAnotherKind) {
  const TempDirectory dir;
  dir.write("loras/secret.txt", "");
  EXPECT_THAT(refusal(folders_in(dir), "loras", "secret.txt"), HasSubstr("invalid model: file is not of this kind"));
}

TEST(ModelFolders, FollowsLinksToFilesAndDirectories) {
  const TempDirectory dir, store;
  const fs::path real = store.write("blob/a.safetensors", "x");
  fs::create_directories(dir.path() / "loras");
  fs::create_symlink(real, dir.path() / "loras/linked.safetensors");
  fs::create_directory_symlink(store.path() / "blob", dir.path() / "loras/shelf");
  fs::create_symlink(store.path() / "gone", dir.path() / "loras/broken.safetensors");
  const ModelFolders folders = folders_in(dir);
  EXPECT_THAT(folders.list("loras"), ElementsAre("linked.safetensors", "shelf/a.safetensors"));
  EXPECT_EQ(folders.resolve("loras", "shelf/a.safetensors"), dir.path() / "loras/shelf/a.safetensors");
  EXPECT_THAT(refusal(folders, "loras", "broken.safetensors"), HasSubstr("not_found"));
}

TEST(ModelFolders, ListingEndsInDirectoriesLinkedIntoThemselves) {
  const TempDirectory dir;
  dir.write("loras/a.safetensors", "");
  fs::create_directory_symlink(dir.path() / "loras", dir.path() / "loras/again");
  EXPECT_THAT(folders_in(dir).list("loras"), ElementsAre("a.safetensors"));
}

TEST(ModelFolders, LeavesOutGitDirectories) {
  const TempDirectory dir;
  dir.write("loras/.git/a.safetensors", "");
  dir.write("loras/b.safetensors", "");
  EXPECT_THAT(folders_in(dir).list("loras"), ElementsAre("b.safetensors"));
}

TEST(ModelFolders, NamesKindNameFoldersAndNearestNamesOfAMissingFile) {
  const TempDirectory dir;
  dir.write("loras/style-night.safetensors", "");
  dir.write("loras/style-light.safetensors", "");
  try {
    (void)folders_in(dir).resolve("loras", "style-nigth.safetensors");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.find("kind"), "loras");
    EXPECT_EQ(error.find("name"), "style-nigth.safetensors");
    EXPECT_EQ(error.find("folders"), (dir.path() / "loras").string());
    EXPECT_EQ(error.find("nearest"), "style-night.safetensors, style-light.safetensors");
  }
}

TEST(ModelFolders, FindGivesNothingForMissingNamesAndStillRefusesUnsafeOnes) {
  const TempDirectory dir;
  const fs::path file = dir.write("embeddings/style.pt", "");
  const ModelFolders folders = folders_in(dir);
  EXPECT_EQ(folders.find("embeddings", "style.pt"), file);
  EXPECT_EQ(folders.find("embeddings", "style.safetensors"), std::nullopt);
  EXPECT_EQ(folders.find("embeddings", "style"), std::nullopt);
  EXPECT_THROW((void)folders.find("embeddings", "../embeddings/style.pt"), Error);
}

TEST(ModelFolders, ADirectoryIsNoModel) {
  const TempDirectory dir;
  fs::create_directories(dir.path() / "loras/a.safetensors");
  EXPECT_THAT(refusal(folders_in(dir), "loras", "a.safetensors"), HasSubstr("not_found"));
}

TEST(ModelFolders, NamesTheNearestKinds) {
  const TempDirectory dir;
  try {
    (void)folders_in(dir).list("lora");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.find("nearest"), "loras");
  }
}

TEST(ModelKinds, HaveUniqueSortedNamesAndFolders) {
  std::vector<std::string> names, folders;
  for (const ModelKind& kind : default_model_kinds()) {
    names.push_back(kind.name);
    folders.insert(folders.end(), kind.folders.begin(), kind.folders.end());
  }
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  std::ranges::sort(folders);
  EXPECT_EQ(std::ranges::adjacent_find(folders), folders.end());
}

}  // namespace
}  // namespace veneer::registry
