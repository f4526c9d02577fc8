// The editor's package: a Python wheel whose folder `static` is what a browser loads.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace veneer::engine {

struct FrontendInstall {
  std::string version;
  size_t files = 0;
  uint64_t bytes = 0;
};

// Unpacks the wheel's static files into `folder`, which they replace whole or not at all. Throws Error(not_found), Error(corrupt) for a wheel that is
// broken or that names files outside of its folder, Error(invalid) for one that holds no such package.
FrontendInstall install_frontend(const std::filesystem::path& wheel, const std::filesystem::path& folder);

}  // namespace veneer::engine
