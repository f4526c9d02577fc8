// Sole ownership of a POSIX file descriptor, and the Error for a failed call on a file.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "veneer/error.h"

namespace veneer::formats {

// Closes on destruction. -1 means none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// `text` is the fixed part, e.g. "file cannot be opened"; `error_number` an errno value, which also chooses the code: not_found for a missing
// path, no_memory for a full memory, invalid otherwise.
Error file_error(std::string text, const std::filesystem::path& path, int error_number);

// A regular file open for reading, and its size at that time.
struct OpenFile {
  FileDescriptor fd;
  uint64_t size_bytes = 0;
};
// Never waits for the other end of a pipe. Throws Error(not_found) when there is no such file, Error(invalid) when it is not a regular file or
// may not be read.
OpenFile open_for_reading(const std::filesystem::path& path);

}  // namespace veneer::formats
