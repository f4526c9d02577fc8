#include "formats/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

#include "formats/byte_reader.h"

namespace veneer::formats {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50, kDescriptor = 0x08074b50;
constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr size_t kEndBytes = 22, kLocatorBytes = 20, kLocalHeaderBytes = 30, kMaxCommentBytes = 65535;
constexpr uint16_t kZip64Extra = 1, kEncrypted = 1, kHasDescriptor = 8;
constexpr std::string_view kTruncated = "zip: file is truncated";

struct Directory {
  uint64_t entries = 0, bytes = 0, begin = 0;
};

// What the directory says of an entry.
struct Packed {
  std::string_view name;
  uint16_t method = 0, flags = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0;
};

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Directory directory() const {
    const size_t end = find_end();
    ByteReader reader = at(end + 4);
    const uint16_t disk = reader.u16(), first_disk = reader.u16(), here = reader.u16(), all = reader.u16();
    Directory out{.entries = all, .bytes = reader.u32(), .begin = reader.u32()};
    uint64_t directory_end = end;
    const bool large = all == UINT16_MAX || out.bytes == UINT32_MAX || out.begin == UINT32_MAX;
    // torch writes the 64-bit records always.
    if (const std::optional<uint64_t> end64 = find_end64(end)) {
      ByteReader wide = at(*end64 + 4);
      (void)wide.u64();  // its own size
      (void)wide.u32();  // versions
      if (wide.u32() != 0 || wide.u32() != 0) throw broken("zip: archive is split", ErrorCode::unsupported);
      const uint64_t on_disk = wide.u64();
      const Directory big{.entries = wide.u64(), .bytes = wide.u64(), .begin = wide.u64()};
      const bool same = (all == UINT16_MAX || big.entries == all) && (out.bytes == UINT32_MAX || big.bytes == out.bytes) &&
                        (out.begin == UINT32_MAX || big.begin == out.begin) && on_disk == big.entries;
      if (!same) throw broken("zip: the two ends of the directory disagree");
      out = big;
      directory_end = *end64;
    } else if (large) {
      throw broken("zip: 64-bit end of the directory is missing");
    }
    if (disk != 0 || first_disk != 0 || here != all) throw broken("zip: archive is split", ErrorCode::unsupported);
    if (out.entries > kMaxZipEntries) throw broken("zip: too many entries");
    if (out.begin > directory_end || directory_end - out.begin != out.bytes)
      throw broken("zip: directory does not end where the archive's end begins");
    return out;
  }

  ZipEntry entry(ByteReader& reader) const {
    if (reader.u32() != kDirectoryEntry) throw broken("zip: directory entry has no signature");
    (void)reader.u32();  // versions
    const uint16_t flags = reader.u16(), method = reader.u16();
    (void)reader.u32();  // time and date
    const uint32_t crc = reader.u32();
    uint64_t packed = reader.u32(), size = reader.u32();
    const uint16_t name_bytes = reader.u16(), extra_bytes = reader.u16(), comment_bytes = reader.u16(), disk = reader.u16();
    (void)reader.u16();  // attributes
    (void)reader.u32();
    uint64_t begin = reader.u32();
    const std::string_view name = reader.text(name_bytes);
    read_extra(reader.take(extra_bytes), size, packed, begin);
    (void)reader.take(comment_bytes);
    if ((flags & kEncrypted) != 0) throw refused("zip: entry is encrypted", name);
    if (disk != 0) throw refused("zip: archive is split", name);
    if (method == 0 && packed != size) throw broken("zip: stored entry has two sizes", ErrorCode::corrupt, name);
    const Packed what{.name = name, .method = method, .flags = flags, .crc = crc, .packed = packed, .size = size};
    return {name, data(begin, what), crc, method != 0};
  }

  ByteReader at(uint64_t position) const {
    ByteReader reader(bytes_, file_, kTruncated);
    reader.seek(position);
    return reader;
  }

  Error broken(std::string text, ErrorCode code = ErrorCode::corrupt, std::string_view entry = {}) const {
    Error::Context context = {{"file", file_}};
    if (!entry.empty()) context.emplace_back("entry", std::string(entry.substr(0, 256)));
    return Error(code, std::move(text), std::move(context));
  }

 private:
  Error refused(std::string text, std::string_view entry) const { return broken(std::move(text), ErrorCode::unsupported, entry); }

  bool signature_at(uint64_t position, uint32_t signature) const { return position + 4 <= bytes_.size() && at(position).u32() == signature; }

  // The last record of the archive; only its comment may follow.
  size_t find_end() const {
    const size_t least = bytes_.size() > kEndBytes + kMaxCommentBytes ? bytes_.size() - kEndBytes - kMaxCommentBytes : 0;
    for (size_t begin = bytes_.size() - std::min(bytes_.size(), kEndBytes) + 1; begin-- > least;) {
      if (!signature_at(begin, kEnd)) continue;
      if (bytes_.size() - begin < kEndBytes) continue;
      ByteReader reader = at(begin + 20);
      if (reader.u16() == reader.remaining()) return begin;
    }
    throw broken("zip: file is truncated: it has no directory at its end");
  }

  std::optional<uint64_t> find_end64(size_t end) const {
    if (end < kLocatorBytes || !signature_at(end - kLocatorBytes, kEnd64Locator)) return std::nullopt;
    ByteReader reader = at(end - kLocatorBytes + 4);
    const uint32_t disk = reader.u32();
    const uint64_t begin = reader.u64();
    if (disk != 0 || reader.u32() > 1) throw broken("zip: archive is split", ErrorCode::unsupported);
    if (begin > end || !signature_at(begin, kEnd64)) throw broken("zip: 64-bit end of the directory is missing");
    return begin;
  }

  // Sizes and offset that did not fit 32 bits, in this order.
  void read_extra(std::span<const std::byte> extra, uint64_t& size, uint64_t& packed, uint64_t& begin) const {
    ByteReader reader(extra, file_, "zip: extra field of an entry is truncated");
    while (reader.remaining() >= 4) {
      const uint16_t id = reader.u16();
      ByteReader field(reader.take(reader.u16()), file_, "zip: extra field of an entry is truncated");
      if (id != kZip64Extra) continue;
      for (uint64_t* value : {&size, &packed, &begin}) {
        if (*value == UINT32_MAX) *value = field.u64();
      }
    }
  }

  // The entry's bytes lie behind a header of its own, and another record follows them: a wrong length anywhere shows.
  std::span<const std::byte> data(uint64_t begin, const Packed& what) const {
    const auto fail = [&](const char* text) { return broken(text, ErrorCode::corrupt, what.name); };
    if (begin > bytes_.size() || bytes_.size() - begin < kLocalHeaderBytes || !signature_at(begin, kLocalHeader))
      throw fail("zip: entry has no header");
    ByteReader reader = at(begin + 6);
    if (reader.u16() != what.flags || reader.u16() != what.method) throw fail("zip: entry's two headers disagree");
    reader.seek(begin + 26);
    const uint16_t name_bytes = reader.u16(), extra_bytes = reader.u16();
    if (reader.text(name_bytes) != what.name) throw fail("zip: entry's two headers disagree");
    (void)reader.take(extra_bytes);
    if (what.packed > reader.remaining()) throw fail("zip: file is truncated: entry leaves it");
    const std::span<const std::byte> out = reader.take(what.packed);
    const uint32_t next = reader.remaining() >= 4 ? reader.u32() : 0;
    if ((what.flags & kHasDescriptor) != 0) {
      // Its signature may be left out, says the format; torch and Python never do.
      if (next != kDescriptor || reader.u32() != what.crc) throw fail("zip: no descriptor follows the entry's bytes");
    } else if (next != kLocalHeader && next != kDirectoryEntry && next != kEnd64) {
      throw fail("zip: no record follows the entry's bytes");
    }
    return out;
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
};

}  // namespace

ZipArchive ZipArchive::parse(std::span<const std::byte> bytes, const std::string& file) {
  const Parser parser(bytes, file);
  const Directory directory = parser.directory();
  ByteReader reader = parser.at(directory.begin);
  ZipArchive out;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    out.entries_.push_back(parser.entry(reader));
    if (!out.index_by_name_.emplace(out.entries_.back().name, out.entries_.size() - 1).second) {
      throw parser.broken("zip: two entries have one name", ErrorCode::corrupt, out.entries_.back().name);
    }
  }
  if (reader.position() != directory.begin + directory.bytes) throw parser.broken("zip: directory has another length than its entries");
  return out;
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = index_by_name_.find(name);
  return found != index_by_name_.end() ? &entries_[found->second] : nullptr;
}

bool ZipArchive::crc_fits(const ZipEntry& entry) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(entry.bytes.data()), entry.bytes.size()) == entry.crc;
}

}  // namespace veneer::formats
