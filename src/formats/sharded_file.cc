#include "formats/sharded_file.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "formats/mapped_file.h"
#include "formats/safetensors.h"
#include "formats/shard_index.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

namespace fs = std::filesystem;

// The tensors of an open shard by name; each is taken once.
struct Shard {
  fs::path path;
  std::vector<StoredTensor> tensors;
  std::unordered_map<std::string_view, size_t> places;  // into tensors, of those that were not taken
};

Error disagree(const char* text, const fs::path& index, const std::string& tensor, const fs::path& shard) {
  return {ErrorCode::corrupt, text, {{"file", index.string()}, {"tensor", tensor}, {"shard", shard.filename().string()}}};
}

Shard open_shard(const fs::path& path, ModelContents& out) {
  const std::shared_ptr<const MappedFile> mapped = MappedFile::open(path);
  const std::span<const std::byte> bytes = mapped->bytes();
  ModelContents contents = read_safetensors(bytes, mapped, path.string());
  drop_pages(bytes);
  out.metadata.merge(contents.metadata);
  out.sources.push_back({path, bytes});
  Shard shard{path, std::move(contents.tensors), {}};
  shard.places.reserve(shard.tensors.size());
  for (size_t i = 0; i < shard.tensors.size(); ++i) shard.places.emplace(shard.tensors[i].name, i);
  return shard;
}

}  // namespace

ModelContents read_sharded(std::span<const std::byte> bytes, const fs::path& path) {
  const ShardIndex index = parse_shard_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  ModelContents out{.format = "sharded safetensors"};
  out.sources.push_back({path, {}});
  const fs::path folder = folder_of_shards(path, index.shards);
  std::vector<Shard> shards;
  shards.reserve(index.shards.size());
  for (const std::string& name : index.shards) {
    try {
      shards.push_back(open_shard(folder / name, out));
    } catch (const Error& error) {
      throw error.with("index", path.string());
    }
  }
  out.tensors.reserve(index.tensors.size());
  for (const ShardIndex::Member& member : index.tensors) {
    Shard& shard = shards[member.shard];
    const auto at = shard.places.find(member.tensor);
    if (at == shard.places.end()) throw disagree("safetensors index: shard has no such tensor", path, member.tensor, shard.path);
    const size_t place = at->second;
    shard.places.erase(at);  // before its key is moved
    out.tensors.push_back(std::move(shard.tensors[place]));
  }
  // Whoever copies or compares the model by its index would lose them.
  for (const Shard& shard : shards) {
    if (shard.places.empty()) continue;
    throw disagree("safetensors index: shard has a tensor that the index does not name", path, std::string(shard.places.begin()->first), shard.path);
  }
  return out;
}

}  // namespace veneer::formats
