// Where an output file goes, and under which number, as ComfyUI's clients expect it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace veneer::nodes {

struct OutputPlace {
  std::filesystem::path directory;
  std::string subfolder;  // with '/', relative to the folder
  std::string stem;       // the file name's prefix
};

// `prefix` with %width%, %height%, %year%, %month%, %day%, %hour%, %minute% and %second% (local time) replaced. Other text stays.
std::string expand_prefix(std::string prefix, int64_t width, int64_t height);

// Splits the prefix, in which both separators part directories, and makes the directory below `folder`. Throws Error(invalid) for a prefix that
// leaves the folder, links included, and when the file system refuses.
OutputPlace output_place(const std::filesystem::path& folder, const std::string& prefix);

// Upper and lower case are one where prefixes are compared, so that names stay distinct on every file system.
std::string lower_case_name(std::string text);

// For every way to read a file's name as "<stem>_<number>_...": the stem in lower case, and the number.
void for_each_counter(const std::string& name, const std::function<void(const std::string& stem, int64_t number)>& each);

// One above the highest number of a file "<stem>_<number>_..." in the directory; 1 when there is none. Reads the directory.
int64_t next_counter(const std::filesystem::path& directory, const std::string& stem);

// "<stem>_00001_<extension>"
std::string numbered_name(const std::string& stem, int64_t counter, const std::string& extension);

void replace_all(std::string& text, std::string_view from, const std::string& to);

}  // namespace veneer::nodes
