// ComfyUI's extra_model_paths.yaml: further folders of models, by kind.
#pragma once

#include <filesystem>

#include "registry/model_folders.h"

namespace veneer::registry {

// Adds the file's folders to `folders`. Each section may have a `base_path`, which a relative path of the section begins at, and `is_default: true`,
// which has its folders searched before all others; every other member is a kind and a path, or several paths, one a line. Relative base paths begin
// at the file's own folder. `home` is what "~" stands for. Sections' `custom_nodes` are passed over. Throws Error(not_found) or Error(invalid) naming
// the file, and the line or the section, for what cannot be read or breaks these rules.
void add_extra_model_paths(ModelFolders& folders, const std::filesystem::path& file, const std::filesystem::path& home = {});

}  // namespace veneer::registry
