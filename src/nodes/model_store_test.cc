#include "nodes/model_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <thread>

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
  static std::string first_byte(ModelStore& store) {
    const formats::ModelFile opened = store.lora(kName);
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
  const std::string night = first_byte(store());
  const auto prompt = store().for_prompt();
  const std::string version = prompt->file_version("loras", kName);
  put("style-outline.safetensors");
  EXPECT_EQ(prompt->file_version("loras", kName), version);
  EXPECT_EQ(first_byte(*prompt), night) << "the content of the file that was there";
  EXPECT_NO_THROW(prompt->require_intact());
  EXPECT_NE(store().file_version("loras", kName), version);
  EXPECT_NE(first_byte(store()), night);
}

TEST_F(ModelStoreTest, APromptKeepsToItsNamesOnEveryThread) {
  const auto prompt = store().for_prompt();
  const std::string version = prompt->file_version("loras", kName);
  put("style-outline.safetensors");
  std::string elsewhere, bytes;
  std::thread([&] {
    elsewhere = prompt->file_version("loras", kName);
    bytes = first_byte(*prompt);
  }).join();
  EXPECT_EQ(elsewhere, version);
  EXPECT_EQ(first_byte(*prompt), bytes);
}

TEST_F(ModelStoreTest, APromptMayLoadAFileThatIsGone) {
  const std::string night = first_byte(store());
  const auto prompt = store().for_prompt();
  prompt->file_version("loras", kName);
  fs::remove(file_);
  EXPECT_EQ(first_byte(*prompt), night);
}

TEST_F(ModelStoreTest, AFileThatIsWrittenOverWhileAPromptUsesItIsTold) {
  const auto prompt = store().for_prompt();
  first_byte(*prompt);
  std::ofstream(file_, std::ios::app) << "x";
  try {
    prompt->require_intact();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_EQ(error.find("name"), kName);
  }
}

TEST_F(ModelStoreTest, AWriteWhoseTimeIsSetBackIsTold) {
  const auto prompt = store().for_prompt();
  first_byte(*prompt);
  struct stat before = {};
  ASSERT_EQ(::stat(file_.c_str(), &before), 0);
  {
    std::fstream out(file_, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(-1, std::ios::end);
    out << "x";
  }
  const std::array<timespec, 2> times = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file_.c_str(), times.data(), 0), 0);
  EXPECT_THROW(prompt->require_intact(), Error);
  const auto next = store().for_prompt();
  first_byte(*next);
  EXPECT_NO_THROW(next->require_intact()) << "a new prompt begins with the new content";
}

TEST_F(ModelStoreTest, AWriteThroughAMappingIsToldWhileItIsOpenAndAfterwards) {
  struct stat before = {};
  ASSERT_EQ(::stat(file_.c_str(), &before), 0);
  const auto set_back = [&] {
    const std::array<timespec, 2> times = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, file_.c_str(), times.data(), 0), 0);
  };
  const auto prompt = store().for_prompt();
  first_byte(*prompt);
  {
    const formats::FileDescriptor writer(::open(file_.c_str(), O_RDWR | O_CLOEXEC));
    const auto size = static_cast<size_t>(fs::file_size(file_));
    void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    static_cast<char*>(mapped)[size - 1] ^= 1;
    ASSERT_EQ(::msync(mapped, size, MS_SYNC), 0);
    set_back();
    EXPECT_THROW(prompt->require_intact(), Error);
    ::munmap(mapped, size);
  }
  set_back();
  EXPECT_THROW(prompt->require_intact(), Error);
}

TEST_F(ModelStoreTest, OtherNamesAndRightsAreNoWrites) {
  const auto prompt = store().for_prompt();
  first_byte(*prompt);
  fs::permissions(file_, fs::perms::group_write, fs::perm_options::add);
  fs::create_hard_link(file_, bench_.root() / "link");
  fs::rename(file_, bench_.root() / "moved");
  put("style-outline.safetensors");
  fs::remove(bench_.root() / "moved");
  fs::remove(bench_.root() / "link");
  EXPECT_NO_THROW(prompt->require_intact());
}

TEST_F(ModelStoreTest, ABindingServesUntilAGoodFileComes) {
  store().bind(store().open("loras", kName, false), "hash");
  const std::string version = store().file_version("loras", kName);
  const auto expect_service = [&](const char* fault) {
    EXPECT_EQ(store().file_version("loras", kName), version);
    EXPECT_NE(store().binding("loras", kName)->fault.find(fault), std::string::npos) << store().binding("loras", kName)->fault;
    EXPECT_THAT(store().names("loras"), ::testing::Contains(kName));
    EXPECT_NO_THROW(first_byte(*store().for_prompt()));
  };
  std::ofstream(bench_.root() / "next") << "no model at all";
  fs::rename(bench_.root() / "next", file_);
  expect_service("safetensors");
  fs::remove(file_);
  expect_service("no file of this name");
  fs::create_directories(file_);
  expect_service("folder");
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  expect_service("no regular file");
  fs::remove(file_);
  put("style-outline.safetensors");
  EXPECT_NE(store().file_version("loras", kName), version) << "a good file takes the name";
  EXPECT_EQ(store().binding("loras", kName)->fault, "");
  fs::remove(file_);
  EXPECT_TRUE(store().unbind("loras", kName));
  EXPECT_THROW(store().file_version("loras", kName), Error);
  EXPECT_THAT(store().names("loras"), ::testing::Not(::testing::Contains(kName)));
}

TEST_F(ModelStoreTest, TheFaultGoesWhenTheFileComesBack) {
  store().bind(store().open("loras", kName, false), "hash");
  fs::rename(file_, bench_.root() / "away");
  store().look_at_bindings();
  EXPECT_NE(store().binding("loras", kName)->fault, "");
  fs::rename(bench_.root() / "away", file_);
  store().look_at_bindings();
  EXPECT_EQ(store().binding("loras", kName)->fault, "");
}

TEST_F(ModelStoreTest, ANameThatSomebodyTookAwayIsNotBoundInPlaceOfWhatItStoodFor) {
  const OpenModelPtr first = store().open("loras", kName, false), second = store().open("loras", kName, true);
  store().bind(first, "1");
  EXPECT_TRUE(store().bind_in_place_of(first, second, "2"));
  EXPECT_EQ(store().binding("loras", kName)->sha256, "2");
  EXPECT_FALSE(store().bind_in_place_of(first, first, "3")) << "it is another's by now";
  EXPECT_EQ(store().binding("loras", kName)->sha256, "2");
  EXPECT_TRUE(store().unbind("loras", kName));
  EXPECT_FALSE(store().bind_in_place_of(second, second, "4"));
  EXPECT_TRUE(store().bindings().empty());
}

TEST_F(ModelStoreTest, OtherNamesAndRightsOfABoundFileMakeNoOtherModel) {
  const OpenModelPtr model = store().open("loras", kName, false);
  store().bind(model, "hash");
  const std::vector<std::function<void()>> changes = {[&] { fs::permissions(file_, fs::perms::owner_read); },
                                                      [&] { fs::create_hard_link(file_, bench_.root() / "link"); },
                                                      [&] {
                                                        fs::rename(file_, bench_.root() / "away");
                                                        store().look_at_bindings();
                                                        fs::rename(bench_.root() / "away", file_);
                                                      }};
  for (const auto& change : changes) {
    change();
    store().look_at_bindings();
    const auto binding = store().binding("loras", kName);
    ASSERT_TRUE(binding);
    EXPECT_EQ(binding->model, model);
    EXPECT_EQ(binding->sha256, "hash");
  }
}

TEST_F(ModelStoreTest, AReloadThatFailedKeepsTheNewestVersionThatIsAlive) {
  const std::string name = "c.safetensors";
  const fs::path file = bench_.root() / "models/checkpoints" / name;
  const auto place = [&] {
    fs::copy_file(NodeBench::demo() / "checkpoints/shapes-sd-tiny.safetensors", bench_.root() / "next", fs::copy_options::overwrite_existing);
    fs::rename(bench_.root() / "next", file);
  };
  place();
  auto first = std::make_unique<ModelStore::Checkpoint>(store().checkpoint(name));
  place();
  const ModelStore::Checkpoint second = store().checkpoint(name);
  ASSERT_NE(first->model->patcher.model(), second.model->patcher.model());
  first.reset();
  std::ofstream(bench_.root() / "next") << "no model at all";
  fs::rename(bench_.root() / "next", file);
  EXPECT_THROW(store().checkpoint(name), Error);
  store().keep_serving("checkpoints", name, store().files_of("checkpoints", name).value(), "why");
  const auto binding = store().binding("checkpoints", name);
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->fault, "why");
  EXPECT_EQ(store().checkpoint(name).model->patcher.model(), second.model->patcher.model());
}

TEST_F(ModelStoreTest, OfThreeVersionsInMemoryTheNewestGoesOnServing) {
  const std::string name = "c.safetensors";
  const fs::path file = bench_.root() / "models/checkpoints" / name;
  std::vector<ModelStore::Checkpoint> versions;
  for (int i = 0; i < 3; ++i) {
    fs::copy_file(NodeBench::demo() / "checkpoints/shapes-sd-tiny.safetensors", bench_.root() / "next", fs::copy_options::overwrite_existing);
    fs::rename(bench_.root() / "next", file);
    versions.push_back(store().checkpoint(name));
  }
  std::ofstream(bench_.root() / "next") << "no model at all";
  fs::rename(bench_.root() / "next", file);
  EXPECT_THROW(store().checkpoint(name), Error);
  store().keep_serving("checkpoints", name, store().files_of("checkpoints", name).value(), "why");
  ASSERT_TRUE(store().binding("checkpoints", name));
  EXPECT_EQ(store().checkpoint(name).model->patcher.model(), versions[2].model->patcher.model());
}

TEST_F(ModelStoreTest, ABoundModelThatIsSpoiltInPlaceIsToldAndServesNothingUntilAGoodFileComes) {
  std::weak_ptr<const OpenModel> model;
  {
    const OpenModelPtr opened = store().open("loras", kName, false);
    store().bind(opened, "hash");
    model = opened;
  }
  std::ofstream(file_) << "no model at all";
  store().look_at_bindings();
  auto binding = store().binding("loras", kName);
  ASSERT_TRUE(binding) << "it must not vanish";
  EXPECT_TRUE(binding->lost);
  EXPECT_THAT(binding->fault, ::testing::HasSubstr("written to in place"));
  EXPECT_THAT(binding->fault, ::testing::HasSubstr("safetensors"));
  EXPECT_TRUE(model.expired()) << "what is lost takes no memory";
  EXPECT_THROW(store().file_version("loras", kName), Error);
  EXPECT_THAT(store().names("loras"), ::testing::Contains(kName)) << "the file is there";
  fs::remove(file_);
  EXPECT_THROW(store().file_version("loras", kName), Error);
  EXPECT_THAT(store().binding("loras", kName)->fault, ::testing::HasSubstr("no file of this name"));
  EXPECT_THAT(store().names("loras"), ::testing::Not(::testing::Contains(kName)));
  put("style-outline.safetensors");
  EXPECT_NO_THROW(first_byte(store()));
  binding = store().binding("loras", kName);
  EXPECT_FALSE(binding->lost);
  EXPECT_EQ(binding->fault, "");
}

TEST_F(ModelStoreTest, AGoodModelThatIsWrittenInPlaceTakesTheName) {
  store().bind(store().open("loras", kName, false), "hash");
  const std::string version = store().file_version("loras", kName);
  fs::copy_file(NodeBench::demo() / "loras/style-outline.safetensors", file_, fs::copy_options::overwrite_existing);
  EXPECT_NE(store().file_version("loras", kName), version);
  EXPECT_FALSE(store().binding("loras", kName)->lost);
}

// A disk that does not answer: whoever opens the file waits until `answer`.
class HungFile {
 public:
  explicit HungFile(const fs::path& file) : queue_(::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC)) {
    works_ = queue_.get() >= 0 && ::fanotify_mark(queue_.get(), FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, file.c_str()) == 0;
  }
  bool works() const { return works_; }
  // Waits until somebody waits.
  void wait() {
    fanotify_event_metadata event{};
    if (::read(queue_.get(), &event, sizeof event) >= static_cast<ssize_t>(sizeof event)) waiting_ = formats::FileDescriptor(event.fd);
  }
  // Lets him go on, and everybody who comes after him: the queue's end answers them.
  void answer() {
    const fanotify_response response{.fd = waiting_.get(), .response = FAN_ALLOW};
    EXPECT_EQ(::write(queue_.get(), &response, sizeof response), static_cast<ssize_t>(sizeof response));
    queue_ = formats::FileDescriptor();
  }

 private:
  formats::FileDescriptor queue_, waiting_;
  bool works_ = false;
};

TEST_F(ModelStoreTest, ADiskThatDoesNotAnswerHoldsUpNobodyElse) {
  const fs::path other = bench_.root() / "models/loras/other.safetensors";
  fs::copy_file(file_, other);
  const std::string name = "c.safetensors";
  const fs::path checkpoint = bench_.root() / "models/checkpoints" / name;
  fs::copy_file(NodeBench::demo() / "checkpoints/shapes-sd-tiny.safetensors", checkpoint);
  const ModelStore::Checkpoint alive = store().checkpoint(name);
  // Another file now, so that somebody has to look whether it is a model.
  fs::copy_file(NodeBench::demo() / "checkpoints/shapes-sd-tiny.safetensors", bench_.root() / "next");
  fs::rename(bench_.root() / "next", checkpoint);
  HungFile hung(checkpoint);
  if (!hung.works()) GTEST_SKIP() << "fanotify's permission events are not to be had here";
  std::future<ModelStore::Stale> stale = std::async(std::launch::async, [&] { return store().take_stale(); });
  hung.wait();
  std::future<void> others = std::async(std::launch::async, [&] {
    (void)store().bindings();
    (void)store().file_version("loras", "other.safetensors");
    (void)store().lora("other.safetensors");
  });
  constexpr std::chrono::seconds kFarTooLong(60);
  EXPECT_EQ(others.wait_for(kFarTooLong), std::future_status::ready);
  hung.answer();
  EXPECT_EQ(stale.get().bases.size(), 3U) << "the other file is a model, so the one before it is stale";
}

TEST_F(ModelStoreTest, NamesAreOneWhateverTheirSeparators) {
  fs::create_directories(bench_.root() / "models/loras/sub");
  fs::copy_file(file_, bench_.root() / "models/loras/sub/a.safetensors");
  store().bind(store().open("loras", "sub\\a.safetensors", false), "hash");
  EXPECT_TRUE(store().unbind("loras", "sub//a.safetensors"));
  EXPECT_FALSE(store().unbind("loras", "sub/a.safetensors"));
}

TEST_F(ModelStoreTest, AFileOfAnAdapterThatChangedIsStaleOnce) {
  first_byte(store());
  EXPECT_TRUE(store().take_stale().empty());
  put("style-outline.safetensors");
  EXPECT_THAT(store().take_stale().adapters, ::testing::ElementsAre(file_.string()));
  EXPECT_TRUE(store().take_stale().empty());
}

}  // namespace
}  // namespace veneer::nodes
