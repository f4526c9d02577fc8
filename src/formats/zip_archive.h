// Zip archives (PKWARE's APPNOTE 6.3) as torch and Python write them: entries are found where they lie. Nothing is decompressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace veneer::formats {

inline constexpr size_t kMaxZipEntries = 1'048'576;

struct ZipEntry {
  std::string_view name;             // into the archive
  std::span<const std::byte> bytes;  // as they lie in the archive
  uint32_t crc = 0;
  bool compressed = false;
};

// A view of an archive's bytes, which have to outlive it. Zip64 included.
class ZipArchive {
 public:
  // Reads the directory at the end and every entry's own header. `file` names the archive in errors. Throws Error(corrupt) with "truncated" in its
  // text when there is no directory, Error(corrupt) for whatever disagrees, Error(unsupported) for encrypted or split archives.
  static ZipArchive parse(std::span<const std::byte> bytes, const std::string& file);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  // Null when there is none.
  const ZipEntry* find(std::string_view name) const;
  // Whether the entry's bytes have the checksum that the archive gives. Reads them.
  static bool crc_fits(const ZipEntry& entry);

 private:
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, size_t> index_by_name_;
};

}  // namespace veneer::formats
