#include "engine/written_file.h"

#include <algorithm>
#include <fstream>
#include <span>
#include <string>

#include "formats/atomic_file.h"
#include "formats/sha256.h"

namespace veneer::engine {

void write_whole(const std::filesystem::path& file, std::string_view bytes) {
  formats::AtomicFile out = formats::AtomicFile::create(file);
  out.write(bytes);
  out.commit();
}

bool write_new(const std::filesystem::path& file, std::string_view bytes) {
  formats::AtomicFile out = formats::AtomicFile::create(file);
  out.write(bytes);
  return out.commit_new(file);
}

bool has_bytes(const std::filesystem::path& file, std::string_view bytes) {
  std::error_code failed;
  if (std::filesystem::file_size(file, failed) != bytes.size() || failed) return false;
  std::ifstream in(file, std::ios::binary);
  std::string piece(size_t{256} << 10, '\0');
  while (!bytes.empty()) {
    in.read(piece.data(), static_cast<std::streamsize>(std::min(piece.size(), bytes.size())));
    const auto got = static_cast<size_t>(in.gcount());
    if (got == 0 || std::string_view(piece).substr(0, got) != bytes.substr(0, got)) return false;
    bytes.remove_prefix(got);
  }
  return true;
}

std::string content_name(std::string_view bytes) { return formats::sha256_hex(std::as_bytes(std::span(bytes))).substr(0, 32); }

}  // namespace veneer::engine
