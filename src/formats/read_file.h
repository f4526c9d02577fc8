// A small file as bytes of one's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace veneer::formats {

// Unlike a mapping, the result does not change or fault when another program writes to the file. Throws Error(not_found) or Error(invalid)
// naming the file, also when it has more than `max_bytes`.
std::vector<std::byte> read_file(const std::filesystem::path& path, uint64_t max_bytes);

}  // namespace veneer::formats
