// The folders of pictures by the names that clients use.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core.h"

namespace veneer::server {

// "input", "output" or "temp"; nothing for other names.
std::optional<std::filesystem::path> folder_of(const engine::Core& core, std::string_view type);

// Takes a note such as " [input]" off the end of a file's name: the folder's type, or "" when there is none.
std::string take_folder_note(std::string& name);

}  // namespace veneer::server
