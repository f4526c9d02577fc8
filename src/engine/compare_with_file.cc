#include "engine/compare_with_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/parallel.h"
#include "formats/file_descriptor.h"
#include "formats/sha256.h"

namespace veneer::engine {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

// Reads until `into` is full or the file ends; returns the bytes read.
size_t read_at(const formats::OpenFile& file, uint64_t begin, std::span<std::byte> into, const std::filesystem::path& path) {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::pread(file.fd.get(), into.data() + done, into.size() - done, static_cast<off_t>(begin + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw formats::file_error("file cannot be read", path, errno);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

struct Digests {
  std::string file, memory;
  bool equal() const { return !file.empty() && file == memory; }
};

// Where all bytes are the same, so are the digests, and one is enough.
Digests digests_of(const formats::OpenFile& file, const FilePlace& place, std::span<const std::byte> memory, const std::filesystem::path& path) {
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, place.size_bytes));
  formats::Sha256 hash;
  bool same = place.size_bytes == memory.size();
  for (uint64_t done = 0; done < place.size_bytes;) {
    const std::span<std::byte> want = std::span(piece).first(std::min<uint64_t>(piece.size(), place.size_bytes - done));
    if (read_at(file, place.begin + done, want, path) < want.size()) return {};
    hash.add(want);
    same = same && std::memcmp(want.data(), memory.data() + done, want.size()) == 0;
    done += want.size();
  }
  Digests out;
  out.file = hash.finish_hex();
  out.memory = same ? out.file : formats::sha256_hex(memory);
  return out;
}

// The files that tensors lie in, each opened once.
class OpenFiles {
 public:
  explicit OpenFiles(const std::filesystem::path& model) : model_(model) {}
  void open(const FilePlace& place) {
    const std::filesystem::path& path = path_of(place);
    if (!files_.contains(path)) files_.emplace(path, formats::open_for_reading(path));
  }
  const std::filesystem::path& path_of(const FilePlace& place) const { return place.file.empty() ? model_ : place.file; }
  // Opened before.
  const formats::OpenFile& of(const FilePlace& place) const { return files_.at(path_of(place)); }

 private:
  const std::filesystem::path& model_;
  std::map<std::filesystem::path, formats::OpenFile> files_;
};

// One tensor to be compared.
struct Item {
  const std::string* key;
  const Tensor* memory;
  const FilePlace* place;
  Digests digests = {};
};

std::string digest_of_lines(const std::vector<Item>& items, std::string Digests::*side) {
  formats::Sha256 hash;
  for (const Item& item : items) {
    const std::string line = item.digests.*side + "  " + *item.key + "\n";
    hash.add(std::as_bytes(std::span(line)));
  }
  return hash.finish_hex();
}

}  // namespace

VerifiedPart compare_with_file(const std::map<std::string, Tensor, std::less<>>& memory, const FilePlaces& file, const std::filesystem::path& path) {
  VerifiedPart out;
  std::vector<Item> items;
  for (const auto& [key, tensor] : memory) {
    if (const auto place = file.places.find(key); place != file.places.end()) {
      items.push_back({&key, &tensor, &place->second});
      out.size_bytes += tensor.size_bytes();
    } else if (std::ranges::find(file.loader_made, key) != file.loader_made.end()) {
      out.not_compared.push_back({key, "made by the loader of what the file holds"});
    } else {
      out.different.push_back({key, "", "", formats::sha256_hex(tensor.byte_span())});
    }
  }
  OpenFiles files(path);
  for (const Item& item : items) files.open(*item.place);
  parallel_for(items.size(), 1, [&](size_t begin, size_t end) {
    for (Item& item : std::span(items).subspan(begin, end - begin)) {
      item.digests = digests_of(files.of(*item.place), *item.place, item.memory->byte_span(), files.path_of(*item.place));
    }
  });
  for (const Item& item : items) {
    if (!item.digests.equal()) out.different.push_back({*item.key, item.place->name, item.digests.file, item.digests.memory});
  }
  for (const auto& [key, place] : file.places) {
    if (!memory.contains(key)) out.different.push_back({key, place.name, "", ""});
  }
  out.num_tensors = items.size();
  out.file_sha256 = digest_of_lines(items, &Digests::file);
  out.memory_sha256 = digest_of_lines(items, &Digests::memory);
  return out;
}

}  // namespace veneer::engine
