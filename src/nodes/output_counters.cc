#include "nodes/output_counters.h"

#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "formats/file_descriptor.h"
#include "nodes/output_place.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFolders = 32;

// Whether every change of the folder is made by this machine, and so told by inotify.
bool is_local(const fs::path& directory) {
  constexpr int64_t kXfs = 0x58465342;
  constexpr std::array<int64_t, 4> kLocal = {EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, kXfs};
  struct statfs facts = {};
  return ::statfs(directory.c_str(), &facts) == 0 && std::ranges::find(kLocal, static_cast<int64_t>(facts.f_type)) != kLocal.end();
}

}  // namespace

// One folder that is watched.
class OutputCounters::Folder {
 public:
  uint64_t last_use = 0;

  explicit Folder(const fs::path& directory) {
    struct stat facts = {};
    if (!is_local(directory) || ::stat(directory.c_str(), &facts) != 0) return;
    formats::FileDescriptor fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (fd.get() < 0) return;
    constexpr uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    if (::inotify_add_watch(fd.get(), directory.c_str(), kEvents) < 0) return;
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
    fd_ = std::move(fd);
  }

  // Whether the highest numbers are those of the folder now. Takes in what happened meanwhile.
  bool up_to_date(const fs::path& directory) {
    struct stat facts = {};
    if (fd_.get() < 0 || ::stat(directory.c_str(), &facts) != 0 || facts.st_dev != device_ || facts.st_ino != inode_) return false;
    alignas(inotify_event) std::array<char, 16384> buffer;
    for (ssize_t got = 0; (got = ::read(fd_.get(), buffer.data(), buffer.size())) > 0;) {
      for (ssize_t at = 0; at < got;) {
        inotify_event event = {};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        take_in(event.mask, event.len > 0 ? buffer.data() + at + sizeof event : "");
        at += static_cast<ssize_t>(sizeof event + event.len);
      }
    }
    return known_;
  }

  // The watch stands before the folder is read: what comes in between is heard of twice, and does no harm.
  void read(const fs::path& directory) {
    highest_.clear();
    known_ = true;
    std::error_code failure;
    for (fs::directory_iterator at(directory, failure), end; at != end && !failure; at.increment(failure)) add(at->path().filename().string());
    if (failure) known_ = false;
  }

  int64_t highest(const std::string& stem) const {
    const auto at = highest_.find(lower_case_name(stem));
    return at == highest_.end() ? 0 : at->second;
  }

 private:
  void take_in(uint32_t mask, const char* name) {
    if ((mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) known_ = false;
    if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0) add(name);
    if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0) remove(name);
  }

  void add(const std::string& name) {
    for_each_counter(name, [&](const std::string& stem, int64_t number) {
      int64_t& highest = highest_[stem];
      highest = std::max(highest, number);
    });
  }

  // Which one is the highest now only the folder knows.
  void remove(const std::string& name) {
    for_each_counter(name, [&](const std::string& stem, int64_t number) {
      const auto at = highest_.find(stem);
      if (at != highest_.end() && at->second <= number) known_ = false;
    });
  }

  formats::FileDescriptor fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool known_ = false;
  std::unordered_map<std::string, int64_t> highest_;  // of every stem, in lower case
};

OutputCounters::OutputCounters() = default;
OutputCounters::~OutputCounters() = default;

int64_t OutputCounters::next(const fs::path& directory, const std::string& stem) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Folder>& folder = folders_[directory];
  if (!folder) folder = std::make_unique<Folder>(directory);
  folder->last_use = ++uses_;
  if (!folder->up_to_date(directory)) {
    // A folder that was put in place of the one that is watched gets a watch of its own.
    folder = std::make_unique<Folder>(directory);
    folder->last_use = uses_;
    folder->read(directory);
    ++read_;
  }
  const int64_t counter = folder->highest(stem) + 1;
  if (folders_.size() > kMostFolders) {
    folders_.erase(std::ranges::min_element(folders_, {}, [](const auto& entry) { return entry.second->last_use; }));
  }
  return counter;
}

uint64_t OutputCounters::folders_read() const {
  const std::lock_guard lock(mutex_);
  return read_;
}

}  // namespace veneer::nodes
