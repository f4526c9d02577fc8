#include "formats/sharded_file.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/mapped_file.h"
#include "formats/safetensors.h"
#include "formats/safetensors_header.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxIndexBytes = size_t{32} << 20;
constexpr size_t kMaxShards = 4096;

Error broken(const char* text, const std::filesystem::path& path, Error::Context more = {}) {
  Error::Context context = {{"file", path.string()}};
  context.insert(context.end(), more.begin(), more.end());
  return Error(ErrorCode::corrupt, text, std::move(context));
}

// A file beside the index, and nothing else.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
}

struct Shard {
  SafetensorsFile file;
  SourceBytes source;
};

Shard open_shard(const std::filesystem::path& path) {
  std::shared_ptr<const MappedFile> mapped = MappedFile::open(path);
  const std::span<const std::byte> bytes = mapped->bytes();
  return {SafetensorsFile::parse(bytes, std::move(mapped), path.string()), {path, bytes}};
}

}  // namespace

ModelContents read_sharded(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  if (bytes.size() > kMaxIndexBytes) throw broken("safetensors index: file is too long", path);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const ordered_json index = ordered_json::parse(text, text + bytes.size(), nullptr, false);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object()) throw broken("safetensors index: no JSON object with a weight_map", path);
  if (map->empty()) throw broken("safetensors index: weight_map names no tensor", path);
  if (map->size() > kMaxTensors) throw broken("safetensors index: too many tensors", path);

  ModelContents out{.format = "sharded safetensors"};
  std::map<std::string, Shard> shards;
  for (const auto& [name, value] : map->items()) {
    if (!value.is_string() || !is_plain_name(value.get_ref<const std::string&>())) {
      throw broken("safetensors index: shard is not the name of a file beside the index", path, {{"tensor", name}});
    }
    const std::string& shard = value.get_ref<const std::string&>();
    auto at = shards.find(shard);
    if (at == shards.end()) {
      if (shards.size() == kMaxShards) throw broken("safetensors index: too many shards", path);
      at = shards.emplace(shard, open_shard(path.parent_path() / shard)).first;
    }
    if (!at->second.file.contains(name)) throw broken("safetensors index: shard has no such tensor", path, {{"tensor", name}, {"shard", shard}});
    out.tensors.push_back({name, at->second.file.tensor(name)});
  }
  for (const auto& [name, shard] : shards) {
    out.metadata.insert(shard.file.metadata().begin(), shard.file.metadata().end());
    out.sources.push_back(shard.source);
  }
  return out;
}

}  // namespace veneer::formats
