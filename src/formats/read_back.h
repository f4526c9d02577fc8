// Reads a file back from the disk while it is still being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/fingerprint.h"

namespace veneer::formats {

// What was read.
struct ReadBackDigests {
  Fingerprint fingerprint;  // StreamingDigest
  std::string sha256;       // 64 digits
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
  // Call once, last: reads what is left and returns the digests of everything. Throws what reading threw: Error naming the file.
  ReadBackDigests finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veneer::formats
