// The file of API keys.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace veneer::cli {

// Lines of "NAME:KEY", or of a key alone, whose name is then "key1", "key2", ...; empty lines and those that begin with # are skipped. Throws
// Error(not_found) or Error(invalid) naming file and line: for a key of fewer than 16 characters, a name that occurs twice, and a file without keys.
std::vector<std::pair<std::string, std::string>> read_api_keys(const std::string& file);

}  // namespace veneer::cli
