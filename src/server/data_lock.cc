#include "server/data_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "veneer/error.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

// What the holder wrote, in one line.
std::string holder_of(int file) {
  std::array<char, 256> bytes{};
  const ssize_t count = ::pread(file, bytes.data(), bytes.size(), 0);
  std::string text(bytes.data(), count > 0 ? static_cast<size_t>(count) : 0);
  text.erase(text.find_last_not_of('\n') + 1);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text.empty() ? "unknown" : text;
}

}  // namespace

DataLock::DataLock(const fs::path& folder, const std::string& about) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  const fs::path path = folder / "server.lock";
  const auto error = [&](const char* text, const std::string& key, const std::string& value) {
    return Error(ErrorCode::invalid, text, {{"folder", folder.string()}, {"file", path.string()}, {key, value}});
  };
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600);
  if (file_ < 0) throw error("the data folder cannot be written to", "reason", std::strerror(errno));
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) {
    held_ = true;
    const std::string text = "process " + std::to_string(::getpid()) + ", " + about + "\n";
    if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, text.data(), text.size(), 0) < 0) return;  // the lock holds without its text
    return;
  }
  if (errno != EWOULDBLOCK) return;
  const std::string holder = holder_of(file_);
  ::close(file_);
  file_ = -1;
  throw error("another server uses the data folder; give this one a folder of its own with --data", "held_by", holder);
}

DataLock::~DataLock() {
  if (file_ < 0) return;
  if (held_) static_cast<void>(::ftruncate(file_, 0));
  ::close(file_);
}

}  // namespace veneer::server
