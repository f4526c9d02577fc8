#include "registry/library.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "formats/safetensors.h"
#include "formats/sha256.h"
#include "veneer/error.h"

namespace veneer::registry {
namespace {

namespace fs = std::filesystem;

class LibraryTest : public ::testing::Test {
 protected:
  LibraryTest() {
    std::string pattern = (fs::temp_directory_path() / "veneer-library-XXXXXX").string();
    root = mkdtemp(pattern.data());
  }
  ~LibraryTest() override { fs::remove_all(root); }

  fs::path put(const std::string& name, const std::string& content) const {
    fs::path path = root / "models" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::shared_ptr<const ModelFolders> folders() const {
    const fs::path roots[] = {root / "models"};
    return std::make_shared<const ModelFolders>(roots);
  }
  Library library() const { return Library(folders(), root / "cache"); }

  static std::string text_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path root;
};

std::string sha(const std::string& text) { return formats::sha256_hex(std::as_bytes(std::span(text.data(), text.size()))); }

TEST_F(LibraryTest, VerifyLinksTheFileUnderItsKeyAndKeepsTheHash) {
  const fs::path file = put("checkpoints/v1.5 pruned.safetensors", "content");
  Library first = library();
  const Library::Verified fresh = first.verify(file);
  EXPECT_EQ(fresh.sha256, sha("content"));
  EXPECT_EQ(fresh.cache_key, "v1.5 pruned-" + sha("content").substr(0, 16));
  EXPECT_EQ(fs::read_symlink(fresh.link), fs::canonical(file));
  EXPECT_FALSE(fresh.was_known);
  Library second = library();
  size_t pieces = 0;
  const Library::Verified again = second.verify(file, [&](uint64_t, uint64_t) { ++pieces; });
  EXPECT_TRUE(again.was_known);
  EXPECT_EQ(pieces, 0U);
  EXPECT_EQ(again.sha256, fresh.sha256);
}

TEST_F(LibraryTest, FindsByHashKeyAndVersion) {
  put("checkpoints/stabilityai/turbo@v2.1/model.safetensors", "two");
  put("checkpoints/stabilityai/turbo@v1/model.safetensors", "one");
  Library models = library();
  EXPECT_EQ(models.find("checkpoints", "stabilityai/turbo@v2.1").name, "stabilityai/turbo@v2.1/model.safetensors");
  EXPECT_EQ(models.find("checkpoints", "stabilityai\\turbo@v1").name, "stabilityai/turbo@v1/model.safetensors");
  EXPECT_NE(text_of([&] { models.find("checkpoints", "sha256:" + sha("one")); }).find("no verified file"), std::string::npos);
  const Library::Verified one = models.verify(models.find("checkpoints", "stabilityai/turbo@v1").file);
  const Library::Verified two = models.verify(models.find("checkpoints", "stabilityai/turbo@v2.1").file);
  EXPECT_NE(one.cache_key, two.cache_key);
  EXPECT_EQ(models.find("checkpoints", "sha256:" + sha("one")).name, "stabilityai/turbo@v1/model.safetensors");
  EXPECT_EQ(models.find("checkpoints", two.cache_key).name, "stabilityai/turbo@v2.1/model.safetensors");
  EXPECT_NE(text_of([&] { models.find("loras", two.cache_key); }).find("no verified file with this key"), std::string::npos);
}

TEST_F(LibraryTest, AVersionWithTwoFilesIsAmbiguousAndNamesThem) {
  put("loras/a@1/x.safetensors", "1");
  put("loras/a@1/y.safetensors", "2");
  Library models = library();
  const std::string text = text_of([&] { models.find("loras", "a@1"); });
  EXPECT_NE(text.find("several files"), std::string::npos);
  EXPECT_NE(text.find("a@1/y.safetensors"), std::string::npos);
  EXPECT_EQ(models.find("loras", "a@1/y.safetensors").name, "a@1/y.safetensors");
}

TEST_F(LibraryTest, AFileWhoseNameLooksLikeAReferenceCountsFirst) {
  put("loras/me@home", "1");
  put("loras/a-0123456789abcdef.safetensors", "1");
  put("loras/me@home.safetensors", "1");
  Library models = library();
  EXPECT_EQ(models.find("loras", "me@home.safetensors").name, "me@home.safetensors");
  EXPECT_EQ(models.find("loras", "a-0123456789abcdef.safetensors").name, "a-0123456789abcdef.safetensors");
}

TEST_F(LibraryTest, AReplacedFileIsNoLongerFoundByItsOldHash) {
  const fs::path file = put("loras/a.safetensors", "old");
  Library models = library();
  models.verify(file);
  put("loras/b.tmp", "newer");
  fs::rename(root / "models/loras/b.tmp", file);
  EXPECT_FALSE(models.known_hash(file));
  EXPECT_FALSE(models.try_find("loras", "sha256:" + sha("old")));
  EXPECT_EQ(models.verify(file).sha256, sha("newer"));
}

TEST_F(LibraryTest, CollectForgetsWhatIsGone) {
  const fs::path gone = put("loras/a.safetensors", "1");
  const fs::path kept = put("loras/b.safetensors", "2");
  Library models = library();
  const fs::path link = models.verify(gone).link;
  models.verify(kept);
  fs::remove(gone);
  const Library::Collected collected = models.collect();
  EXPECT_EQ(collected.hashes, 1U);
  EXPECT_EQ(collected.links, 1U);
  EXPECT_FALSE(fs::is_symlink(link));
  EXPECT_TRUE(library().known_hash(kept));
}

TEST_F(LibraryTest, CollectRemovesNothingWithoutTheIndex) {
  const fs::path file = put("loras/a.safetensors", "1");
  const fs::path link = library().verify(file).link;
  ASSERT_TRUE(fs::is_symlink(link));
  std::ofstream(root / "cache/hashes.sqlite") << std::string(5000, 'x');
  EXPECT_NE(text_of([&] { library().collect(); }).find("nothing is removed"), std::string::npos);
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST_F(LibraryTest, AFileThatWasWrittenToIsHashedAgainThoughItsTimeWasSetBack) {
  const fs::path file = put("loras/a.safetensors", "1");
  library().verify(file);
  const fs::file_time_type time = fs::last_write_time(file);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // beyond one tick of the file system's clock
  std::fstream(file, std::ios::in | std::ios::out) << "2";
  fs::last_write_time(file, time);
  EXPECT_FALSE(library().known_hash(file));
  EXPECT_EQ(library().verify(file).sha256, sha("2"));
}

TEST_F(LibraryTest, AnewReadsAFileThatIsKnown) {
  const fs::path file = put("loras/a.safetensors", "1");
  Library models = library();
  models.verify(file);
  size_t pieces = 0;
  const Library::Verified again = models.verify(
      file, [&](uint64_t, uint64_t) { ++pieces; }, true);
  EXPECT_GT(pieces, 0U);
  EXPECT_TRUE(again.was_known);
  EXPECT_EQ(again.problem, "");
}

TEST_F(LibraryTest, AnOddFileNameDoesNotHideTheOthers) {
  put("loras/a:0.5.safetensors", "odd");
  put("loras/back\\slash.safetensors", "odd");
  const fs::path file = put("loras/z.safetensors", "1");
  Library models = library();
  models.verify(file);
  EXPECT_EQ(models.find("loras", "sha256:" + sha("1")).name, "z.safetensors");
}

TEST_F(LibraryTest, TheHashPrefixIsReadInEitherCaseAndNeedsDigits) {
  const fs::path file = put("loras/a.safetensors", "1");
  Library models = library();
  models.verify(file);
  EXPECT_EQ(models.find("loras", "SHA256:" + sha("1").substr(0, 16)).name, "a.safetensors");
  for (const std::string& broken :
       {"sha256:" + sha("1").substr(0, 15), "Sha256:" + sha("1") + "0", std::string("sha256:xyz"), std::string("sha256:")}) {
    EXPECT_NE(text_of([&] { models.find("loras", broken); }).find("16 to 64 digits"), std::string::npos) << broken;
  }
}

TEST_F(LibraryTest, ABrokenIndexIsToldAndHashesStillCome) {
  const fs::path file = put("loras/a.safetensors", "1");
  fs::create_directories(root / "cache");
  std::ofstream(root / "cache/hashes.sqlite") << std::string(5000, 'x');
  Library models = library();
  EXPECT_EQ(models.verify(file).sha256, sha("1"));
  EXPECT_NE(models.notice().find("hashes.sqlite"), std::string::npos);
  EXPECT_EQ(models.find("loras", "sha256:" + sha("1")).name, "a.safetensors");
}

TEST_F(LibraryTest, ACacheFolderThatCannotBeMadeIsToldAndHashesStillCome) {
  const fs::path file = put("loras/a.safetensors", "1");
  std::ofstream(root / "cache") << "a file";
  Library models = library();
  const Library::Verified verified = models.verify(file);
  EXPECT_EQ(verified.sha256, sha("1"));
  EXPECT_TRUE(verified.link.empty());
  EXPECT_FALSE(models.notice().empty());
}

TEST_F(LibraryTest, TwoConnectionsVerifyAtOnce) {
  std::vector<fs::path> files;
  files.reserve(40);
  for (int i = 0; i < 40; ++i) files.push_back(put("loras/" + std::to_string(i) + ".safetensors", std::to_string(i)));
  const auto work = [&] {
    Library models = library();
    for (const fs::path& file : files) EXPECT_EQ(models.verify(file).sha256, sha(file.stem().string()));
    EXPECT_EQ(models.notice(), "");
  };
  std::thread other(work);
  work();
  other.join();
  for (const fs::path& file : files) EXPECT_TRUE(library().known_hash(file));
}

TEST_F(LibraryTest, FactsFollowTheFile) {
  const fs::path file = root / "models/loras/a.safetensors";
  fs::create_directories(file.parent_path());
  const Tensor one = Tensor::zeros(Shape{4, 768}, DType::f16);
  const std::pair<std::string, Tensor> lora[] = {{"lora_unet_x_attn2_to_k.lora_down.weight", one}, {"lora_unet_x_attn2_to_k.lora_up.weight", one}};
  formats::write_safetensors(file, lora);
  Library models = library();
  EXPECT_EQ(models.facts(file)->family, "sd1");
  const std::pair<std::string, Tensor> embedding[] = {{"emb_params", one}};
  formats::write_safetensors(file, embedding);
  EXPECT_EQ(models.facts(file)->type, "embedding");
  EXPECT_EQ(models.facts(file)->num_parameters, 4U * 768U);
}

}  // namespace
}  // namespace veneer::registry
