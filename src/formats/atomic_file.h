// A file that appears under its name whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "formats/file_descriptor.h"

namespace veneer::formats {

// Collects bytes in a new file beside `path` (the name plus ".<random>.tmp") and gives it the name on commit, after its content has reached the
// disk. Until then, and when it is destroyed without a commit, `path` is as it was. Replaces an existing file or symbolic link. One thread.
class AtomicFile {
 public:
  // Throws Error(not_found) when the directory is missing, Error(invalid) when it may not be written to.
  static AtomicFile create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  // Removes the temporary file unless committed.
  ~AtomicFile();

  // Appends. Throws Error(invalid) naming file and reason (a full disk, for one).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // Replaces bytes that were written before.
  void overwrite(uint64_t begin, std::string_view text);
  // Lets the system begin to write what it holds to the disk, without waiting.
  void send_to_disk();
  // Waits until everything written is on the disk; the file may be read under its temporary name then. Throws Error(invalid).
  void sync();
  const std::filesystem::path& temporary_path() const { return temporary_; }
  // Flushes to the disk and renames; call once, last.
  void commit();
  // The same under the name `path` in the same directory, which must be free: false, with nothing changed, when something has it already.
  [[nodiscard]] bool commit_new(const std::filesystem::path& path);

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, FileDescriptor fd);
  void flush();
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once committed or moved from
  FileDescriptor fd_;
};

}  // namespace veneer::formats
