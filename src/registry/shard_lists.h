// Which files a model is made of, remembered while its index stays the same.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "registry/file_identity.h"
#include "veneer/error.h"

namespace veneer::registry {

// All members may be called from any thread.
class ShardLists {
 public:
  // formats::files_of_model(). Throws what that does.
  std::vector<std::filesystem::path> files(const std::filesystem::path& model);

 private:
  struct Known {
    FileIdentity identity;
    std::vector<std::filesystem::path> files;
    std::optional<Error> broken;
  };
  std::mutex mutex_;
  std::map<std::filesystem::path, Known> known_;  // indices
};

}  // namespace veneer::registry
