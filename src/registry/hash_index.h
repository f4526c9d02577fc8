// SHA-256 of files, computed once for each content: an SQLite database that processes share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace veneer::registry {

// A file is known by device, inode, size and the times of its last modification and change (mtime, ctime): whatever wrote to it, it is not known any
// more, though a program set mtime back. One that was renamed or given other rights is hashed again as well. A database that
// cannot be opened, read or written is no fault: hashes are kept in memory then, and notice() says why. All members may be called from any thread,
// and any number of processes may use one database.
class HashIndex {
 public:
  struct Row {
    std::string path;
    uint64_t size_bytes = 0;
    std::string sha256;
  };
  // (bytes done, bytes of the file). May throw to stop.
  using Progress = std::function<void(uint64_t, uint64_t)>;

  // Makes the database, and its folder, at the first write. An empty path keeps everything in memory.
  explicit HashIndex(std::filesystem::path database);
  ~HashIndex();
  HashIndex(const HashIndex&) = delete;
  HashIndex& operator=(const HashIndex&) = delete;

  // The hash of the file as it is now, if it is known. Throws Error(not_found) for a file that does not exist.
  std::optional<std::string> known(const std::filesystem::path& file);
  // The same, or else computed, by a streamed read, and written down. Throws what reading does, and Error(corrupt) for a file that changes meanwhile.
  // `anew`: computed though it is known.
  std::string hash(const std::filesystem::path& file, const Progress& progress = {}, bool anew = false);

  // The same of the bytes from `begin` on only: what the header of a file tells of its tensors. `begin` has to be the same at every call.
  std::string hash_behind(const std::filesystem::path& file, uint64_t begin, const Progress& progress = {}, bool anew = false);

  // Files whose hash begins with `prefix`, as they were when they were hashed: see still_valid.
  std::vector<Row> find(const std::string& prefix);
  // Whether the file at the row's path is the one that was hashed.
  bool still_valid(const Row& row);
  // Forgets files that are gone or were changed. How many.
  size_t collect();

  // "" or why hashes are not kept beyond this process.
  std::string notice() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veneer::registry
