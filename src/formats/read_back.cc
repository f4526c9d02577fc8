#include "formats/read_back.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/streaming_digest.h"
#include "formats/file_descriptor.h"
#include "formats/sha256.h"

namespace veneer::formats {
namespace {

// Sent to the disk and read at a time.
constexpr uint64_t kChunk = uint64_t{8} << 20;

}  // namespace

struct ReadBack::State {
  State(const std::filesystem::path& file, uint64_t begin)
      : path(file), open(open_for_reading(file)), position(begin), sent(begin), end(begin), thread([this] { run(); }) {}

  // Waits until there is a whole chunk, or the end is known. Returns how far to read.
  uint64_t next_end() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return done || end - position >= kChunk; });
    return abandoned ? position : std::min(end, position + kChunk);
  }

  void read_to(uint64_t until) {
    const int fd = open.fd.get();
    const auto begin = static_cast<off_t>(position), size = static_cast<off_t>(until - position);
    // Hints: where they are refused the bytes come from the system's memory. What counts for safety is the flush before the rename.
    (void)::sync_file_range(fd, begin, size, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    (void)::posix_fadvise(fd, begin, size, POSIX_FADV_DONTNEED);
    (void)::posix_fadvise(fd, begin, size, POSIX_FADV_WILLNEED);
    while (position < until) {
      const ssize_t count =
          ::pread(fd, piece.data(), static_cast<size_t>(std::min<uint64_t>(piece.size(), until - position)), static_cast<off_t>(position));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw file_error("file cannot be read", path, errno);
      if (count == 0) throw Error(ErrorCode::corrupt, "file ends before what was written to it", {{"file", path.string()}});
      send_written();  // the disk has work while this thread hashes
      const auto bytes = std::span(piece).first(static_cast<size_t>(count));
      digest.add(bytes);
      sha256.add(bytes);
      position += static_cast<uint64_t>(count);
    }
  }

  // Lets the system begin to write what came since the last time.
  void send_written() {
    uint64_t written = 0;
    {
      const std::lock_guard lock(mutex);
      written = end;
    }
    if (written < sent + kChunk) return;
    (void)::sync_file_range(open.fd.get(), static_cast<off_t>(sent), static_cast<off_t>(written - sent), SYNC_FILE_RANGE_WRITE);
    sent = written;
  }

  void run() {
    try {
      while (true) {
        const uint64_t until = next_end();
        if (until == position) return;
        read_to(until);
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }

  void join() {
    {
      const std::lock_guard lock(mutex);
      done = true;
    }
    changed.notify_one();
    if (thread.joinable()) thread.join();
  }

  std::filesystem::path path;
  OpenFile open;
  StreamingDigest digest;
  Sha256 sha256;
  std::vector<std::byte> piece = std::vector<std::byte>(size_t{1} << 20);
  uint64_t position, sent;  // the thread's
  std::exception_ptr failure;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t end;
  bool done = false, abandoned = false;
  std::thread thread;  // last: it uses all of the above
};

ReadBack::ReadBack(const std::filesystem::path& path, uint64_t begin) : state_(std::make_unique<State>(path, begin)) {}

ReadBack::~ReadBack() {
  {
    // What was not asked for by now is of no use: the writer failed, or was told to stop.
    const std::lock_guard lock(state_->mutex);
    state_->abandoned = true;
  }
  state_->join();
}

void ReadBack::written_to(uint64_t end) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->end = end;
  }
  state_->changed.notify_one();
}

ReadBackDigests ReadBack::finish() {
  state_->join();
  if (state_->failure) std::rethrow_exception(state_->failure);
  return {state_->digest.finish(), state_->sha256.finish_hex()};
}

}  // namespace veneer::formats
