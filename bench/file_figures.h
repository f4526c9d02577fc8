// What files cost: opening a large header, hashing against OpenSSL, converting against copying.
#pragma once

#include <filesystem>

namespace veneer::bench {

// Prints one line for each figure. Works in a folder of its own in `parent`, which has to have 1 GB free, and removes it.
void print_file_figures(const std::filesystem::path& parent);

}  // namespace veneer::bench
