// Files that come from outside: written whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace veneer::engine {

// Writes to a new name beside `file` and renames it when all is there. Replaces what has the name. Throws Error(not_found) for a missing directory,
// Error(invalid) naming the reason.
void write_whole(const std::filesystem::path& file, std::string_view bytes);

// The same unless the name is taken: false then.
bool write_new(const std::filesystem::path& file, std::string_view bytes);

// Whether the file is there and has exactly these bytes.
bool has_bytes(const std::filesystem::path& file, std::string_view bytes);

// A file name made of a hash of the bytes, without extension.
std::string content_name(std::string_view bytes);

}  // namespace veneer::engine
