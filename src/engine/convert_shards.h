// A conversion's target in shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "formats/atomic_file.h"
#include "formats/write_model.h"

namespace veneer::engine {

// Writes shards "STEM-00001-of-00003.safetensors" beside the index "STEM.safetensors.index.json", all under temporary names until commit().
class ShardWriter {
 public:
  // Each shard has tensors of at most `shard_bytes`, or a single one. Throws Error(invalid) for more shards than an index may have.
  ShardWriter(std::filesystem::path index, std::vector<formats::TensorStream> tensors, uint64_t shard_bytes);

  // The shards' places.
  std::vector<std::filesystem::path> files() const;
  // Writes every shard to the disk and checks its header. `late` as write_model() has it; called for each.
  void write(const std::map<std::string, std::string>& metadata, const std::function<std::map<std::string, std::string>()>& late);
  // Gives the shards, and then the index, their names, which have to be free unless `replace`: then an older index is taken away first, so that the
  // model is absent, old or whole at any moment. What was put down is removed when that fails. At last the shards of the replaced index go that the
  // new one does not name (formats::own_shards), but none of `sources`.
  void commit(bool replace, std::span<const std::filesystem::path> sources = {});

  uint64_t size_bytes() const { return size_bytes_; }  // of all files; after commit()
  // SHA-256 of the lines "<checksum of the tensors>  <name>\n" of the shards; after write().
  std::string checksum() const;

 private:
  struct Shard {
    std::filesystem::path path;
    std::vector<formats::TensorStream> tensors;
    std::string checksum = {};
  };
  std::string index_text() const;
  bool is_in_use(const std::filesystem::path& shard, std::span<const std::filesystem::path> sources) const;

  std::filesystem::path index_;
  std::vector<Shard> shards_;
  std::vector<formats::AtomicFile> files_;  // written and not named yet
  uint64_t size_bytes_ = 0;
};

}  // namespace veneer::engine
