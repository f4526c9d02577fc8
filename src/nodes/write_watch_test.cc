#include "nodes/write_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

class WriteWatchTest : public ::testing::Test {
 protected:
  WriteWatchTest() {
    std::string name = (fs::temp_directory_path() / "veneer_watch_XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    file_ = folder_ / "a";
    std::ofstream(file_) << std::string(8192, 'a');
    fd_ = formats::FileDescriptor(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  }
  ~WriteWatchTest() override { fs::remove_all(folder_); }
  void write() const {
    std::fstream out(file_, std::ios::in | std::ios::out | std::ios::binary);
    out << "b";
  }

  fs::path folder_, file_;
  formats::FileDescriptor fd_;
  std::shared_ptr<WriteWatch> watch_ = WriteWatch::create();
};

TEST_F(WriteWatchTest, TellsOfAWriteSinceTheMarkWasMade) {
  write();
  const auto mark = watch_->add(fd_.get());
  if (!mark->sure()) GTEST_SKIP() << "this machine gives no watches";
  EXPECT_FALSE(mark->written());
  write();
  EXPECT_TRUE(mark->written());
  const auto later = watch_->add(fd_.get());
  EXPECT_FALSE(later->written()) << "the write came before";
  EXPECT_TRUE(mark->written());
  EXPECT_TRUE(mark->sure() && later->sure());
}

TEST_F(WriteWatchTest, OtherNamesAndRightsAreNoWrites) {
  const auto mark = watch_->add(fd_.get());
  if (!mark->sure()) GTEST_SKIP() << "this machine gives no watches";
  ::chmod(file_.c_str(), 0600);
  fs::create_hard_link(file_, folder_ / "b");
  fs::rename(file_, folder_ / "c");
  std::ofstream(folder_ / "d") << "another";
  fs::rename(folder_ / "d", folder_ / "b");
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ / "c").c_str(), nullptr, 0), 0);  // as touch does
  fs::remove(folder_ / "c");
  EXPECT_FALSE(mark->written());
  EXPECT_FALSE(mark->writer_closed());
}

TEST_F(WriteWatchTest, AWriteThroughAMappingIsSeenWhenTheWriterCloses) {
  const auto mark = watch_->add(fd_.get());
  if (!mark->sure()) GTEST_SKIP() << "this machine gives no watches";
  {
    const formats::FileDescriptor writer(::open(file_.c_str(), O_RDWR | O_CLOEXEC));
    void* mapped = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    *static_cast<char*>(mapped) = 'z';
    ::munmap(mapped, 8192);
  }
  EXPECT_TRUE(mark->writer_closed());
}

TEST_F(WriteWatchTest, MarksOfOneFileAreIndependent) {
  auto first = watch_->add(fd_.get());
  if (!first->sure()) GTEST_SKIP() << "this machine gives no watches";
  const auto second = watch_->add(fd_.get());
  first.reset();
  write();
  EXPECT_TRUE(second->written());
}

TEST_F(WriteWatchTest, AFileThatCannotBeWatchedIsNotCalledSure) { EXPECT_FALSE(watch_->add(-1)->sure()); }

}  // namespace
}  // namespace veneer::nodes
