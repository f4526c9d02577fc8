#include "formats/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>

namespace veneer::formats {
namespace {

// Linux transfers at most about 2 GiB per call; smaller pieces cost nothing.
constexpr size_t kMaxWriteBytes = size_t{1} << 30;

std::string random_suffix() {
  std::random_device device;
  char text[24];
  std::snprintf(text, sizeof text, ".%08x%08x.tmp", device(), device());
  return text;
}

void sync_directory(const std::filesystem::path& directory) {
  const FileDescriptor fd(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a directory (EINVAL). The file is whole either way; only the moment of the rename is less certain.
  if (fd.get() >= 0) (void)::fsync(fd.get());
}

// An errno value, 0 for success.
int rename_to_free_name(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  // Network file systems do not know the flag, but links; one that fails is no reason to keep the temporary name.
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  (void)::unlink(from.c_str());
  return 0;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, FileDescriptor fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), fd_(std::move(other.fd_)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
}

AtomicFile AtomicFile::create(const std::filesystem::path& path) {
  while (true) {
    std::filesystem::path temporary = path;
    temporary += random_suffix();
    FileDescriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd.get() >= 0) return AtomicFile(path, std::move(temporary), std::move(fd));
    if (errno != EEXIST) throw file_error("file cannot be created", path, errno);
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_.get(), bytes.data(), std::min(bytes.size(), kMaxWriteBytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("file cannot be written", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void AtomicFile::overwrite(uint64_t begin, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::pwrite(fd_.get(), text.data(), text.size(), static_cast<off_t>(begin));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("file cannot be written", path_, errno);
    text.remove_prefix(static_cast<size_t>(count));
    begin += static_cast<uint64_t>(count);
  }
}

void AtomicFile::send_to_disk() {
  // A hint: what fails here fails again, and is told, when the file is flushed.
  (void)::sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

void AtomicFile::sync() {
  if (fd_.get() >= 0 && ::fsync(fd_.get()) != 0) throw file_error("file cannot be written", path_, errno);
}

void AtomicFile::flush() {
  sync();
  fd_.reset();
}

bool AtomicFile::commit_new(const std::filesystem::path& path) {
  flush();
  if (const int failure = rename_to_free_name(temporary_, path); failure != 0) {
    if (failure == EEXIST) return false;
    throw file_error("file cannot be renamed to its name", path, failure);
  }
  temporary_.clear();
  sync_directory(path.parent_path());
  return true;
}

void AtomicFile::commit() {
  flush();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw file_error("file cannot be renamed to its name", path_, errno);
  temporary_.clear();
  sync_directory(path_.parent_path());
}

}  // namespace veneer::formats
