#include "nodes/pinned_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "formats/mapped_file.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

registry::FileIdentity identity_of(int fd, const std::filesystem::path& path) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0) throw formats::file_error("file cannot be examined", path, errno);
  return {.device = facts.st_dev,
          .inode = facts.st_ino,
          .size_bytes = static_cast<uint64_t>(facts.st_size),
          .modified_ns = nanoseconds(facts.st_mtim),
          .changed_ns = nanoseconds(facts.st_ctim)};
}

// File systems on which a refused lease means a writer; network file systems refuse them for reasons of their own.
bool leases_tell(int fd) {
  constexpr int64_t kXfs = 0x58465342;
  constexpr std::array<int64_t, 5> kLocal = {EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC, kXfs};
  struct statfs facts = {};
  return ::fstatfs(fd, &facts) == 0 && std::ranges::find(kLocal, static_cast<int64_t>(facts.f_type)) != kLocal.end();
}

}  // namespace

std::shared_ptr<const PinnedFile> PinnedFile::open(const std::filesystem::path& path) {
  formats::OpenFile file = formats::open_for_reading(path);
  const registry::FileIdentity identity = identity_of(file.fd.get(), path);
  return std::shared_ptr<const PinnedFile>(new PinnedFile(path, std::move(file.fd), identity));
}

std::shared_ptr<const PinnedFile> PinnedFile::gone(const std::filesystem::path& path, const registry::FileIdentity& identity) {
  return std::shared_ptr<const PinnedFile>(new PinnedFile(path, formats::FileDescriptor(), identity));
}

bool PinnedFile::being_written() const {
  std::error_code unknown;
  if (std::filesystem::exists(path_.string() + ".aria2", unknown)) return true;
  if (!leases_tell(fd_.get())) return false;
  // A lease belongs to an open file of its own. A writer who comes in between is told by a signal, which has to be one that nobody minds.
  const formats::FileDescriptor own(::open(("/proc/self/fd/" + std::to_string(fd_.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (own.get() < 0 || ::fcntl(own.get(), F_SETSIG, SIGURG) != 0) return false;
  if (::fcntl(own.get(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  ::fcntl(own.get(), F_SETLEASE, F_UNLCK);
  return false;
}

bool PinnedFile::changed_in_place() const {
  if (fd_.get() < 0) return false;
  const registry::FileIdentity now = identity_of(fd_.get(), path_);
  return now.size_bytes != identity_.size_bytes || now.modified_ns != identity_.modified_ns;
}

bool PinnedFile::path_leads_here() const {
  struct stat facts = {};
  return ::stat(path_.c_str(), &facts) == 0 && facts.st_dev == identity_.device && facts.st_ino == identity_.inode;
}

formats::ModelFile PinnedFile::read() const {
  if (path_leads_here()) {
    formats::ModelFile file = formats::ModelFile::open(path_);
    // Else the name came to stand for another file while that was opened.
    if (path_leads_here()) return file;
  }
  const auto mapped = formats::MappedFile::open("/proc/self/fd/" + std::to_string(fd_.get()));
  return formats::ModelFile::parse(mapped->bytes(), mapped, path_.string());
}

}  // namespace veneer::nodes
