// A safetensors model in several files, and the index that says which tensor is in which. Grammar: docs/formats/safetensors.md.
#pragma once

#include <filesystem>
#include <span>

#include "formats/model_contents.h"

namespace veneer::formats {

// `bytes` are the index file's, `path` its place: see folder_of_shards(). Opens every shard and checks its header. Tensors are in the order of the
// index. Throws Error(corrupt) naming file and tensor when the index and the shards disagree, Error(not_found) for a shard that is missing.
ModelContents read_sharded(std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace veneer::formats
