// A file's bytes in order, the next ones read from the system while the last ones are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "formats/file_descriptor.h"

namespace veneer::formats {

// Memory: three pieces of 1 MiB, or one for a file that is no longer than a piece. One thread; another one of its own reads.
class ReadAhead {
 public:
  // Reads from `begin` on. `path` stands for the file in errors.
  ReadAhead(OpenFile file, std::filesystem::path path, uint64_t begin);
  // Waits for the thread.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The bytes behind those of the last call, which are no longer valid; nothing at the end of the file. Throws Error naming the file.
  std::span<const std::byte> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veneer::formats
