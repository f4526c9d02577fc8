// Reads a file back from the disk while it is still being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace veneer::formats {

// A fast 128-bit digest (XXH3) of bytes in any pieces: against mistakes of the machine, not against people.
class FastDigest {
 public:
  FastDigest();
  FastDigest(FastDigest&&) noexcept;
  FastDigest& operator=(FastDigest&&) noexcept;
  ~FastDigest();
  void add(std::span<const std::byte> bytes);
  bool operator==(const FastDigest& other) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Follows a writer in a thread of its own: what was written is sent to the disk, dropped from the system's memory where it allows that, and read
// again.
class ReadBack {
 public:
  // `path` is being written to; bytes from `begin` on are read.
  ReadBack(const std::filesystem::path& path, uint64_t begin);
  // Waits for the thread.
  ~ReadBack();
  ReadBack(const ReadBack&) = delete;
  ReadBack& operator=(const ReadBack&) = delete;

  // The file has been written up to here.
  void written_to(uint64_t end);
  // Call once, last: reads what is left and returns the digest of everything. Throws what reading threw: Error naming the file.
  FastDigest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veneer::formats
