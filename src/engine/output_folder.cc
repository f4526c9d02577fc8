#include "engine/output_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "veneer/error.h"

namespace veneer::engine {

namespace fs = std::filesystem;

void require_writable(const fs::path& folder) {
  std::error_code failure;
  fs::path existing = fs::absolute(folder, failure);
  // The closest folder above that is there has to take the new one.
  while (!failure && !fs::exists(existing, failure) && existing.has_relative_path()) {
    failure.clear();  // "a/b" under a file "a" does not exist either
    existing = existing.parent_path();
  }
  const auto refuse = [&](const char* reason) {
    throw Error(ErrorCode::invalid, "the output folder cannot be written", {{"folder", folder.string()}, {"reason", reason}});
  };
  if (failure) refuse(failure.message().c_str());
  if (!fs::is_directory(existing, failure)) refuse(std::strerror(ENOTDIR));
  if (::access(existing.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
}

}  // namespace veneer::engine
