// OutputCounters: the number of the next picture in a folder, without reading the folder for each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace veneer::nodes {

// A folder is read once; from then on the system tells of every file that comes or goes in it, whoever does that (inotify), so the answer is always
// that of a folder read anew. Where the system does not tell (network file systems, no watches left) the folder is read each time. All members may be
// called from any thread.
class OutputCounters {
 public:
  OutputCounters();
  ~OutputCounters();
  OutputCounters(const OutputCounters&) = delete;
  OutputCounters& operator=(const OutputCounters&) = delete;

  // What next_counter says of the folder as it is now.
  int64_t next(const std::filesystem::path& directory, const std::string& stem);
  // How often a folder was read.
  uint64_t folders_read() const;

 private:
  class Folder;
  mutable std::mutex mutex_;
  std::map<std::filesystem::path, std::unique_ptr<Folder>> folders_;
  uint64_t uses_ = 0;
  uint64_t read_ = 0;
};

}  // namespace veneer::nodes
