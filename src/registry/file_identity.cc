#include "registry/file_identity.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "veneer/error.h"

namespace veneer::registry {

FileIdentity identify(const std::filesystem::path& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) {
    throw Error(ErrorCode::not_found, "model: cannot open the file", {{"file", path.string()}, {"reason", std::strerror(errno)}});
  }
  return {.device = facts.st_dev,
          .inode = facts.st_ino,
          .size_bytes = static_cast<uint64_t>(facts.st_size),
          .modified_ns = facts.st_mtim.tv_sec * 1'000'000'000LL + facts.st_mtim.tv_nsec,
          .changed_ns = facts.st_ctim.tv_sec * 1'000'000'000LL + facts.st_ctim.tv_nsec};
}

std::vector<FileIdentity> identify_all(std::span<const std::filesystem::path> files) {
  std::vector<FileIdentity> out;
  out.reserve(files.size());
  for (const std::filesystem::path& file : files) out.push_back(identify(file));
  return out;
}

uint64_t size_of_all(std::span<const std::filesystem::path> files) {
  uint64_t size = 0;
  for (const std::filesystem::path& file : files) size += identify(file).size_bytes;
  return size;
}

}  // namespace veneer::registry
