// A JSON file of the tests.
#pragma once

#include <filesystem>

#include "formats/testing/temp_directory.h"
#include "graph/json_text.h"

namespace veneer::testing {

inline graph::Json read_json(const std::filesystem::path& path) { return graph::parse_json(formats::read_whole(path)); }

}  // namespace veneer::testing
