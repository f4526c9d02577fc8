// A file as it is now, told apart without reading it.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace veneer::registry {

// Equal identities of a file at two times mean equal content, as far as the file system tells.
struct FileIdentity {
  uint64_t device = 0, inode = 0, size_bytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // of content, name or rights: no program can set it back
  auto operator<=>(const FileIdentity&) const = default;
};

// Follows links. Throws Error(not_found) naming the file and the reason.
FileIdentity identify(const std::filesystem::path& path);

// Of each file of a model. Throws what identify() does.
std::vector<FileIdentity> identify_all(std::span<const std::filesystem::path> files);
// The sum of their sizes.
uint64_t size_of_all(std::span<const std::filesystem::path> files);

}  // namespace veneer::registry
