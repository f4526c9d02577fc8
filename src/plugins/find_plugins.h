// Looking for plug-ins in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace veneer::plugins {

struct Candidate {
  std::string name;
  std::filesystem::path file;  // of a refused folder: the folder
  std::string refused;         // why it is not even tried; "" if it may be
};

// NAME.so in the folder, and NAME/NAME.so below it, by name. Names that begin with a dot or end in .disabled are passed over, and so are other files.
// Refused at once: files or folders that everybody may write to (also behind links), a folder without its library, a name that is there already.
// Throws Error(not_found) when there is no such folder.
std::vector<Candidate> find_plugins(const std::filesystem::path& folder);

}  // namespace veneer::plugins
