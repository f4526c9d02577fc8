// The index of a safetensors model in several files: which tensor is in which. Grammar: docs/formats/safetensors.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veneer::formats {

inline constexpr std::string_view kIndexEnding = ".safetensors.index.json";
inline constexpr uint64_t kMaxIndexBytes = uint64_t{32} << 20;

struct ShardIndex {
  struct Member {
    std::string tensor;
    size_t shard = 0;  // which of `shards`
  };
  std::vector<std::string> shards;  // names of files beside the index, sorted
  std::vector<Member> tensors;      // in the order of the text
};

// Throws Error(corrupt) naming `file`, the tensor, and the rule.
ShardIndex parse_shard_index(std::string_view text, const std::string& file);

// Whether a file of this name has to be an index: it ends with kIndexEnding, in either case.
bool is_index_name(std::string_view name);

// Where the shards of an index lie: beside it, or, if it is a symbolic link and the shards are not there, beside what it leads to.
std::filesystem::path folder_of_shards(const std::filesystem::path& index, const std::vector<std::string>& shards);

// The files that the model at `path` is made of: the file itself, or the index and then its shards in order of their names, whether these exist or
// not. Reads nothing but an index. Throws Error(not_found), and Error(corrupt) for an index that is broken.
std::vector<std::filesystem::path> files_of_model(const std::filesystem::path& path);

// Whether a file has the name of a shard, by which alone nobody takes it for a model: "*-00001-of-00003.safetensors", with any number of digits.
bool is_shard_name(std::string_view name);

// The shards that an index names and that are nobody else's: beside it, called "STEM-<number>-of-<number>.safetensors" after it, and not named by
// another index in the folder; whether they exist or not. Nothing when an index of the folder cannot be read, or `index` is none.
std::vector<std::filesystem::path> own_shards(const std::filesystem::path& index);

// Files beside an index that have the names of its shards but for their numbers, and that it does not name: left over from another version.
std::vector<std::filesystem::path> stray_shards(const std::filesystem::path& index);

// The hash of a model: of one file its own; of an index and its shards, in the order of files_of_model(), that of the lines that
// `sha256sum < INDEX; sha256sum SHARD...` print in their folder. `hashes`: one for each file.
std::string sha256_of_model(std::span<const std::filesystem::path> files, std::span<const std::string> hashes);

}  // namespace veneer::formats
