// A safetensors model in several files, and the index that says which tensor is in which. Grammar: docs/formats/safetensors.md.
#pragma once

#include <filesystem>
#include <span>

#include "formats/model_contents.h"

namespace veneer::formats {

// `bytes` are the index file's, `path` its place: shards lie beside it. Opens every shard and checks its header. Entries are those that the index
// names, in the order of its text. Throws Error(corrupt) naming file and tensor when the index and the shards disagree, Error(not_found) for a shard
// that is missing.
ModelContents read_sharded(std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace veneer::formats
