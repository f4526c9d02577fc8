#include "formats/read_ahead.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace veneer::formats {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kSlots = 3;

}  // namespace

struct ReadAhead::State {
  State(OpenFile opened, std::filesystem::path name, uint64_t begin) : file(std::move(opened)), path(std::move(name)), position(begin) {
    (void)::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    if (file.size_bytes < position || file.size_bytes - position <= kPieceBytes) return;
    try {
      thread = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // No thread to be had: pieces are read when they are asked for.
    }
  }
  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A piece, which is full unless the file ends in it.
  std::span<const std::byte> read(size_t slot) {
    std::vector<std::byte>& piece = pieces[slot];
    piece.resize(kPieceBytes);
    size_t count_read = 0;
    while (count_read < kPieceBytes) {
      const ssize_t count = ::pread(file.fd.get(), piece.data() + count_read, kPieceBytes - count_read, static_cast<off_t>(position));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw file_error("file cannot be read", path, errno);
      if (count == 0) break;
      count_read += static_cast<size_t>(count);
      position += static_cast<uint64_t>(count);
    }
    return std::span(piece).first(count_read);
  }

  // Fills one slot after another until the file ends or nobody asks for more.
  void run() {
    for (size_t slot = 0;; slot = (slot + 1) % kSlots) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return stop || num_read - num_used < kSlots; });
        if (stop) return;
      }
      std::span<const std::byte> bytes;
      std::exception_ptr error;
      try {
        bytes = read(slot);
      } catch (...) {
        error = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex);
        filled[slot] = bytes;
        failure = error;
        ++num_read;
      }
      changed.notify_all();
      if (bytes.empty()) return;  // the end, or a failure
    }
  }

  std::span<const std::byte> next() {
    if (!thread.joinable()) return read(0);
    if (ended) return {};
    std::unique_lock lock(mutex);
    if (in_use) {
      ++num_used;
      changed.notify_all();
    }
    in_use = true;
    changed.wait(lock, [this] { return num_read > num_used; });
    const std::span<const std::byte> bytes = filled[num_used % kSlots];
    ended = bytes.empty();
    if (ended && failure) std::rethrow_exception(failure);
    return bytes;
  }

  OpenFile file;
  std::filesystem::path path;
  uint64_t position;  // of whoever reads: the thread, or the caller where there is none
  std::array<std::vector<std::byte>, kSlots> pieces;
  bool in_use = false, ended = false;  // the caller's
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::span<const std::byte>, kSlots> filled;
  std::exception_ptr failure;
  size_t num_read = 0, num_used = 0;  // pieces; the caller holds number num_used
  bool stop = false;
  std::thread thread;
};

ReadAhead::ReadAhead(OpenFile file, std::filesystem::path path, uint64_t begin)
    : state_(std::make_unique<State>(std::move(file), std::move(path), begin)) {}

ReadAhead::~ReadAhead() = default;

std::span<const std::byte> ReadAhead::next() { return state_->next(); }

}  // namespace veneer::formats
