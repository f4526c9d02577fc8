// Library: the model files of a machine: found by any reference, recognised by their headers, hashed once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/file_identity.h"
#include "registry/hash_index.h"
#include "registry/model_facts.h"
#include "registry/model_folders.h"
#include "registry/model_reference.h"

namespace veneer::registry {

// All members may be called from any thread.
class Library {
 public:
  struct Found {
    std::string name;  // in the folders of its kind
    std::filesystem::path file;
  };
  // A file of a model: the only one, or the index or a shard.
  struct Part {
    std::filesystem::path file;
    uint64_t size_bytes = 0;
    std::string sha256;
  };
  struct Verified {
    std::string sha256;
    std::string cache_key;
    std::filesystem::path link;       // in the cache folder; empty when it could not be made, there is a problem, or no such folder
    bool was_known = false;           // every file of the model was hashed before and is the same since
    std::string problem;              // why the content is not as it should be, naming the file; or ""
    bool is_other_than_told = false;  // that is so because a header tells of other tensors
  };
  struct Collected {
    size_t hashes = 0;  // of files that are gone or were changed
    size_t links = 0;   // in the cache folder, to such files
  };

  // `cache`: where the index ("hashes.sqlite") and the links ("models/") are; empty: nothing is kept.
  Library(std::shared_ptr<const ModelFolders> folders, std::filesystem::path cache);

  const ModelFolders& folders() const { return *folders_; }
  const std::filesystem::path& cache() const { return cache_; }

  // The file that a reference names. A version is the folder of that name in a folder of the kind, with one model in it; hashes are found among files
  // that were verified. Throws Error(not_found) with what is near, Error(invalid) for a broken name and a reference that fits several files.
  Found find(std::string_view kind, std::string_view reference);
  // The same, but nothing where there is no such file.
  std::optional<Found> try_find(std::string_view kind, std::string_view reference);

  // From the header; kept while the file stays the same. Throws what read_header does.
  std::shared_ptr<const ModelFacts> facts(const std::filesystem::path& file);

  // A model in shards is its index; what it takes and its hash are those of all its files: see formats::sha256_of_model(). These throw
  // Error(not_found) for a shard that is missing, and Error(corrupt) for a broken index.
  std::optional<std::string> known_hash(const std::filesystem::path& file);
  std::string hash(const std::filesystem::path& file, const HashIndex::Progress& progress = {});
  // Of one file, whatever it is.
  std::string hash_of_file(const std::filesystem::path& file, const HashIndex::Progress& progress = {}) { return index_.hash(file, progress); }
  std::vector<Part> parts(const std::filesystem::path& file, const HashIndex::Progress& progress = {});
  uint64_t size_bytes(const std::filesystem::path& file) const { return size_of_all(folders_->files(file)); }
  // Hashes the model and links it under its cache key. `anew`: reads it though its hash is known. Tensors are held to the checksum that a file's
  // header tells of them, and there is no shard of another version beside those of the model: see Verified::problem.
  Verified verify(const std::filesystem::path& file, const HashIndex::Progress& progress = {}, bool anew = false);
  // Throws Error(invalid) when there is an index that cannot be read; no link is removed then.
  Collected collect();

  // "" or why hashes are not kept.
  std::string notice() const { return index_.notice(); }

 private:
  struct Known {
    std::vector<FileIdentity> identities;
    std::shared_ptr<const ModelFacts> facts;
  };
  std::string known_or_empty(const std::filesystem::path& file);
  std::string check_part(const std::filesystem::path& file, const HashIndex::Progress& progress, bool anew, bool& is_other_than_told);
  std::optional<Found> find_version(std::string_view kind, const ModelReference& reference) const;
  std::optional<Found> find_hash(std::string_view kind, const ModelReference& reference);
  std::map<std::string, std::string> known_places(const ModelReference& reference);
  void require_index() const;
  std::filesystem::path link_to(const std::filesystem::path& file, const std::string& key) const;

  std::shared_ptr<const ModelFolders> folders_;
  std::filesystem::path cache_;
  HashIndex index_;
  std::mutex mutex_;
  std::map<std::filesystem::path, Known> facts_;
};

}  // namespace veneer::registry
