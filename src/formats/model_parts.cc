// The files of a model in shards, on the disk.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "formats/file_descriptor.h"
#include "formats/read_file.h"
#include "formats/sha256.h"
#include "formats/shard_index.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;

// Whether a file begins as JSON and not as safetensors, whose header's length may look like a brace.
bool begins_like_json(const fs::path& path) {
  const OpenFile file = open_for_reading(path);
  if (file.size_bytes > kMaxIndexBytes) return false;
  std::array<char, 9> first{};
  const ssize_t count = ::pread(file.fd.get(), first.data(), first.size(), 0);
  if (count < 0) throw file_error("file cannot be read", path, errno);
  return first[0] == '{' && !(count == 9 && first[8] == '{' && std::string_view(first.data() + 4, 4) == std::string_view("\0\0\0\0", 4));
}

// "model-00001-of-00003.safetensors" without its numbers: "model-" ... ".safetensors"; nothing for other names.
struct Numbered {
  std::string_view stem;
  bool is = false;
};

Numbered numbered(std::string_view name) {
  constexpr std::string_view kEnding = ".safetensors", kOf = "-of-";
  if (!name.ends_with(kEnding)) return {};
  std::string_view rest = name.substr(0, name.size() - kEnding.size());
  const auto drop_digits = [&rest] {
    const size_t before = rest.size();
    while (!rest.empty() && rest.back() >= '0' && rest.back() <= '9') rest.remove_suffix(1);
    return rest.size() < before;
  };
  if (!drop_digits() || !rest.ends_with(kOf)) return {};
  rest.remove_suffix(kOf.size());
  if (!drop_digits() || !rest.ends_with('-')) return {};
  return {rest, true};
}

}  // namespace

fs::path folder_of_shards(const fs::path& index, const std::vector<std::string>& shards) {
  fs::path at = index;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code unknown;
    if (shards.empty() || fs::exists(at.parent_path() / shards.front(), unknown)) return at.parent_path();
    const fs::path target = fs::read_symlink(at, unknown);
    if (unknown) break;
    at = at.parent_path() / target;  // an absolute one replaces it
  }
  return index.parent_path();
}

std::vector<fs::path> files_of_model(const fs::path& path) {
  const bool named = is_index_name(path.filename().string());
  if (!named && (path.extension() == ".safetensors" || !begins_like_json(path))) return {path};
  const std::vector<std::byte> bytes = read_file(path, kMaxIndexBytes);
  ShardIndex index;
  try {
    index = parse_shard_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  } catch (const Error&) {
    if (named) throw;
    return {path};  // some other JSON
  }
  std::vector<fs::path> out = {path};
  const fs::path folder = folder_of_shards(path, index.shards);
  for (const std::string& shard : index.shards) out.push_back(folder / shard);
  return out;
}

std::vector<fs::path> stray_shards(const fs::path& index) {
  const std::vector<fs::path> files = files_of_model(index);
  std::vector<fs::path> out;
  if (files.size() < 2) return out;
  std::unordered_set<std::string> names;
  for (size_t i = 1; i < files.size(); ++i) names.insert(files[i].filename().string());
  std::unordered_set<std::string> stems;
  for (const std::string& name : names) {
    if (numbered(name).is) stems.emplace(numbered(name).stem);
  }
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator(files[1].parent_path(), unknown)) {
    const std::string name = entry.path().filename().string();
    if (numbered(name).is && !names.contains(name) && stems.contains(std::string(numbered(name).stem))) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

bool is_shard_name(std::string_view name) { return numbered(name).is; }

std::vector<fs::path> own_shards(const fs::path& index) {
  const std::string name = index.filename().string();
  std::vector<fs::path> out;
  try {
    if (!is_index_name(name)) return {};
    const std::string stem = name.substr(0, name.size() - kIndexEnding.size()) + "-";
    std::unordered_set<std::string> of_others;
    for (const auto& entry : fs::directory_iterator(index.parent_path().empty() ? "." : index.parent_path())) {
      if (!is_index_name(entry.path().filename().string()) || entry.path().filename() == index.filename()) continue;
      const std::vector<fs::path> files = files_of_model(entry.path());
      for (size_t i = 1; i < files.size(); ++i) of_others.insert(files[i].filename().string());
    }
    for (const fs::path& file : files_of_model(index)) {
      const std::string shard = file.filename().string();
      if (file.parent_path() != index.parent_path() || numbered(shard).stem != stem) continue;
      if (!of_others.contains(shard)) out.push_back(file);
    }
  } catch (const Error&) {
    return {};
  } catch (const fs::filesystem_error&) {
    return {};
  }
  return out;
}

std::string sha256_of_model(std::span<const fs::path> files, std::span<const std::string> hashes) {
  if (files.size() == 1) return hashes.front();
  Sha256 lines;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string line = hashes[i] + "  " + (i == 0 ? "-" : files[i].filename().string()) + "\n";
    lines.add(std::as_bytes(std::span(line)));
  }
  return lines.finish_hex();
}

}  // namespace veneer::formats
