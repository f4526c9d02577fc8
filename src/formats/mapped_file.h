// A whole regular file as read-only memory, without reading it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace veneer::formats {

// Owns one private read-only mapping; immutable, so it may be used from any thread. Bytes are those of the file at the time of each page's first
// touch: a file that another program writes to while it is mapped changes under the reader, and one that is made shorter raises SIGBUS on
// access. Writers must therefore replace files by rename (as AtomicFile does), never in place: a mapping keeps the old content then.
class MappedFile {
 public:
  // Throws Error(not_found) when there is no such file, Error(invalid) when it is not a regular file or may not be read, Error(no_memory) when
  // the address space is full. Each names the file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // The content; empty for an empty file. Page-aligned.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  size_t size_;
};

// Lets the system take back the memory of the whole pages within `bytes`, which have to be a part of a mapping; they are read again when touched.
void drop_pages(std::span<const std::byte> bytes);

}  // namespace veneer::formats
