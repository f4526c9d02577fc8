// The editor's files, where it is installed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "server/options.h"

namespace veneer::server {

// Where it lies, or would.
std::filesystem::path frontend_folder(const ServerOptions& options);
bool has_frontend(const ServerOptions& options);
// "" when it is not known.
std::string installed_frontend_version(const ServerOptions& options);
// "/extensions/core/groupNode.js", ...: scripts that the editor may import.
std::vector<std::string> extension_scripts(const ServerOptions& options);

}  // namespace veneer::server
