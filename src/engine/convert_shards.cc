#include "engine/convert_shards.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/sha256.h"
#include "formats/shard_index.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxShards = 4096;

uint64_t size_of_tensor(const formats::TensorStream& tensor) {
  return storage_bytes(tensor.dtype, static_cast<uint64_t>(tensor.shape.num_elements()));
}

std::string shard_name(const std::string& stem, size_t number, size_t count) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "-%05zu-of-%05zu.safetensors", number, count);
  return stem + text.data();
}

Error taken(const fs::path& path) { return {ErrorCode::invalid, "convert: target exists", {{"target", path.string()}}}; }

// Removes what has its name already when a later step fails.
struct Removal {
  std::vector<fs::path> files;
  ~Removal() {
    std::error_code ignored;
    for (const fs::path& file : files) fs::remove(file, ignored);
  }
};

}  // namespace

ShardWriter::ShardWriter(fs::path index, std::vector<formats::TensorStream> tensors, uint64_t shard_bytes) : index_(std::move(index)) {
  uint64_t filled = 0;
  for (formats::TensorStream& tensor : tensors) {
    const uint64_t size = size_of_tensor(tensor);
    if (shards_.empty() || size > shard_bytes - std::min(filled, shard_bytes)) {
      shards_.emplace_back();
      filled = 0;
    }
    filled += size;
    shards_.back().tensors.push_back(std::move(tensor));
  }
  if (shards_.empty() || shards_.size() > kMaxShards) {
    throw Error(ErrorCode::invalid, "convert: an index has 1 to 4096 shards", {{"shards", std::to_string(shards_.size())}, {"help", "--shard-size"}});
  }
  const std::string name = index_.filename().string(), stem = name.substr(0, name.size() - formats::kIndexEnding.size());
  for (size_t i = 0; i < shards_.size(); ++i) shards_[i].path = index_.parent_path() / shard_name(stem, i + 1, shards_.size());
}

std::vector<fs::path> ShardWriter::files() const {
  std::vector<fs::path> out;
  for (const Shard& shard : shards_) out.push_back(shard.path);
  return out;
}

void ShardWriter::write(const std::map<std::string, std::string>& metadata, const std::function<std::map<std::string, std::string>()>& late) {
  for (Shard& shard : shards_) {
    formats::AtomicFile& file = files_.emplace_back(formats::AtomicFile::create(shard.path));
    shard.checksum = formats::write_model(file, formats::TargetFormat::safetensors, shard.tensors, metadata, late);
    file.sync();
    formats::verify_header(file.temporary_path(), shard.tensors, shard.checksum);
    size_bytes_ += fs::file_size(file.temporary_path());
  }
}

std::string ShardWriter::checksum() const {
  formats::Sha256 lines;
  for (const Shard& shard : shards_) {
    const std::string line = shard.checksum + "  " + shard.path.filename().string() + "\n";
    lines.add(std::as_bytes(std::span(line)));
  }
  return lines.finish_hex();
}

std::string ShardWriter::index_text() const {
  uint64_t total = 0;
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (const Shard& shard : shards_) {
    for (const formats::TensorStream& tensor : shard.tensors) {
      total += size_of_tensor(tensor);
      // Names were checked to be different, so each is a new member; looking for it would take the square of their number.
      map.get_ref<nlohmann::ordered_json::object_t&>().push_back({tensor.name, shard.path.filename().string()});
    }
  }
  return nlohmann::ordered_json{{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}}.dump(2) + "\n";
}

bool ShardWriter::is_in_use(const fs::path& shard, std::span<const fs::path> sources) const {
  std::error_code unknown;
  const auto is_same = [&](const fs::path& other) { return other == shard || fs::equivalent(other, shard, unknown); };
  return std::ranges::any_of(sources, is_same) || std::ranges::any_of(shards_, is_same, &Shard::path);
}

void ShardWriter::commit(bool replace, std::span<const fs::path> sources) {
  const std::vector<fs::path> before = replace ? formats::own_shards(index_) : std::vector<fs::path>();
  const std::string text = index_text();
  formats::AtomicFile index = formats::AtomicFile::create(index_);
  index.write(text);
  index.sync();
  if (replace) fs::remove(index_);
  Removal removal;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (replace) {
      files_[i].commit();
    } else if (!files_[i].commit_new(shards_[i].path)) {
      throw taken(shards_[i].path);
    }
    removal.files.push_back(shards_[i].path);
  }
  if (replace) {
    index.commit();
  } else if (!index.commit_new(index_)) {
    throw taken(index_);
  }
  removal.files.clear();
  // The new model is whole: what cannot be removed is left over, and told by whoever verifies it.
  std::error_code left_over;
  for (const fs::path& shard : before) {
    if (!is_in_use(shard, sources)) fs::remove(shard, left_over);
  }
  size_bytes_ += text.size();
}

}  // namespace veneer::engine
