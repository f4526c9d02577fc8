// Model files on this machine: what they are, by which references they are found, and their hashes. Needs no engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "veneer/error.h"

namespace veneer {

struct ModelLibraryOptions {
  std::vector<std::string> model_folders = {};      // as EngineOptions has them
  std::vector<std::string> extra_model_paths = {};  // likewise
  std::string home_folder = {};                     // what "~" stands for in those
  // Keeps "hashes.sqlite", which several processes may use at once, and "models/", links to verified files under their cache keys. Empty: nothing is
  // kept.
  std::string cache_folder = {};
};

// A model in shards is its index: docs/formats/safetensors.md.
struct ModelEntry {
  std::string kind;  // its folder: "checkpoints", "loras", ...
  std::string name;  // in that folder
  std::string file;
  uint64_t size_bytes = 0;  // of all its files
  std::string sha256;       // "" when the file was never verified, or has changed since
  std::string cache_key;    // "<name>-<first 16 digits of the hash>", likewise
  // From the header; empty when it was not read, or the file is of no known kind.
  std::string type;                      // "checkpoint", "lora", "vae", "controlnet", ...
  std::string family;                    // "sd1", "sd2", "sdxl", "sdxl_refiner", "sd3", "flux"; of an adapter the one it is for
  std::string title;                     // for people: "Stable Diffusion XL (base)"
  std::string detail;                    // "inpainting", "v-prediction", "text encoder too", ...
  std::string format;                    // "safetensors", "gguf", ...
  std::map<std::string, size_t> dtypes;  // dtype -> tensors
  size_t num_tensors = 0;
  uint64_t num_parameters = 0;
  std::map<std::string, std::string> metadata;
  std::string problem;  // why the header cannot be read, or the file cannot be named; "" otherwise
};

struct VerifiedModel {
  std::string kind, name, file;
  std::string sha256, cache_key;
  std::string link;        // in the cache folder, or ""
  bool was_known = false;  // hashed before, and the same file since
  std::string problem;     // why it is not as it should be; "" otherwise
};

struct AddModelRequest {
  std::string file;   // to be added
  std::string kind;   // empty: by what the file is
  std::string name;   // in the folder; empty: the file's own
  std::string id;     // "model_id@version": the folder to put it in; empty: none
  bool link = false;  // a symbolic link instead of a copy
};

class ModelLibrary {
 public:
  // (file, bytes done, bytes in all). May throw to stop.
  using Progress = std::function<void(const std::string& file, uint64_t done, uint64_t all)>;

  // Throws Error for folders that do not exist and paths files that cannot be read.
  explicit ModelLibrary(const ModelLibraryOptions& options);
  ~ModelLibrary();
  ModelLibrary(const ModelLibrary&) = delete;
  ModelLibrary& operator=(const ModelLibrary&) = delete;

  std::vector<std::string> kinds() const;
  // The files of a kind, or of all ("") but for kinds without a folder, in order of their names. `headers`: with what they are; otherwise names,
  // sizes and known hashes.
  std::vector<ModelEntry> list(const std::string& kind, bool headers) const;
  // A model by name, "model_id@version", "sha256:...", cache key, or path. `kind` "": in all of them. Throws Error(not_found) with what is near,
  // Error(invalid) for a reference that fits several files.
  ModelEntry show(const std::string& reference, const std::string& kind = {}) const;
  // Hashes files that are not known, or were changed (`rehash`: all), and reads their headers. No references: everything. A file that cannot be
  // read, that no reader takes, that has another hash though nothing tells of a change, or other tensors than its header tells
  // ("veneer.tensors_sha256"), and a model in shards that lacks one or has one of another version beside it, has the problem in its entry. Throws
  // Error(not_found) when no folder of models exists.
  std::vector<VerifiedModel> verify(const std::vector<std::string>& references, const std::string& kind = {}, const Progress& progress = {},
                                    bool rehash = false) const;
  // Puts a model into the first folder of its kind, with all of its shards, and verifies it: it appears whole or not at all, and copies are read
  // back. Throws Error(invalid) when another file has the name or the id, or the kind cannot be told, and what reading the header does; one with the
  // same content is left as it is.
  VerifiedModel add(const AddModelRequest& request, const Progress& progress = {}) const;
  struct Collected {
    size_t hashes = 0, links = 0;
  };
  // Forgets hashes of files that are gone or were changed, and removes links to them. No model is touched. Throws Error(invalid) for an index that
  // cannot be read.
  Collected collect() const;
  // "" or why hashes are not kept.
  std::string notice() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace veneer
