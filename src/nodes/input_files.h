// Pictures that workflows name: files in the input, output or temp folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nodes/services.h"

namespace veneer::nodes {

// The file behind a name such as "cat.png", "sub/cat.png" or, with a folder note, "cat.png [output]" ([input], [output], [temp]). Separators may be
// '/' or
// '\'. Throws Error(invalid) for a name that leaves the folder, Error(not_found) for one that is no file.
std::filesystem::path resolve_input_file(const ImageFolders& folders, std::string name);

// Names of the files directly in the input folder, sorted; with `images_only` those whose extension says picture.
std::vector<std::string> list_input_files(const ImageFolders& folders, bool images_only);

}  // namespace veneer::nodes
