// Where tests find what lies outside of their own sources.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace veneer::testing {

inline std::filesystem::path source_folder() { return VENEER_SOURCE_DIR; }
inline std::filesystem::path demo_models() { return source_folder() / "models/demo"; }

// Reference data that is not part of the repository: the environment variable VENEER_SHARED_DIR, else what CMake was told. May not exist.
inline std::filesystem::path shared_folder() {
  const char* from_environment = std::getenv("VENEER_SHARED_DIR");
  return from_environment != nullptr ? from_environment : VENEER_SHARED_DIR;
}

}  // namespace veneer::testing

// Skips the running test, visibly, where the shared reference data is not there.
#define VENEER_NEEDS_SHARED(relative)                                          \
  if (!std::filesystem::exists(veneer::testing::shared_folder() / (relative))) \
  GTEST_SKIP() << "needs " << (veneer::testing::shared_folder() / (relative)) << ", which is not on this machine; point VENEER_SHARED_DIR at it"
