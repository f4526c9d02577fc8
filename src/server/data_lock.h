// DataLock: one server per data folder. Two would each run the jobs of the other.
#pragma once

#include <filesystem>
#include <string>

namespace veneer::server {

// Held from its making to its end, or to the end of the process, however that comes: the kernel lets go of it.
class DataLock {
 public:
  // Makes the folder if there is none, and in it a file "server.lock" that says who holds it: the process' number and `about`. Throws Error(invalid)
  // with the folder and what the holder wrote when another server, of this process or another, has it, and Error(invalid) with the reason for a
  // folder in which no file can be written. A file system without locks is served without one; see `held`.
  DataLock(const std::filesystem::path& folder, const std::string& about);
  ~DataLock();
  DataLock(const DataLock&) = delete;
  DataLock& operator=(const DataLock&) = delete;

  bool held() const { return held_; }

 private:
  int file_ = -1;
  bool held_ = false;
};

}  // namespace veneer::server
