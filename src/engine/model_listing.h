// Model files as the server lists them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/core.h"

namespace veneer::engine {

struct ModelFileInfo {
  std::string name;         // relative to its folder, with '/'
  size_t folder_index = 0;  // in `folders(kind)`
  uint64_t size_bytes = 0;
  double modified = 0, created = 0;  // seconds since 1970
};

// Looks at the disk at every call. Any thread.
class ModelListing {
 public:
  // The core has to outlive it.
  explicit ModelListing(const Core& core) : core_(core) {}

  // In the order that ComfyUI's clients know; kinds that they do not know come last.
  std::vector<std::string> kinds() const;
  // By its present name; older names are none.
  bool has(const std::string& kind) const;
  // Files, and names that /model/load holds a model for.
  std::vector<std::string> list(const std::string& kind) const;
  std::vector<std::filesystem::path> folders(const std::string& kind) const;
  // The same, where they are relative as the paths in errors are.
  std::vector<std::filesystem::path> folders_as_given(const std::string& kind) const;
  std::vector<ModelFileInfo> files(const std::string& kind) const;
  // Nothing for a name that is no file of the kind.
  std::optional<std::filesystem::path> find(const std::string& kind, const std::string& name) const;
  // The text entries of a safetensors file's header as a JSON object; nothing for another file, one without, and one that is broken.
  std::optional<graph::Json> metadata(const std::string& kind, const std::string& name) const;

 private:
  uint64_t size_of(const std::filesystem::path& file, uint64_t own) const;
  const Core& core_;
};

}  // namespace veneer::engine
