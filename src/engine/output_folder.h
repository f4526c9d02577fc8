// Whether pictures can be saved at all, asked before minutes are spent on drawing them.
#pragma once

#include <filesystem>

namespace veneer::engine {

// Throws Error(invalid) naming folder and reason when the folder is there but cannot be written, or is not there and cannot be made. Makes nothing.
void require_writable(const std::filesystem::path& folder);

}  // namespace veneer::engine
