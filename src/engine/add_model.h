// ModelLibrary::add.
#pragma once

#include <filesystem>
#include <string>

#include "registry/library.h"
#include "veneer/model_library.h"

namespace veneer::engine {

struct AddedModel {
  std::string kind, name;
  std::filesystem::path file;
};

// Copies or links the file, or an index and its shards, into the first folder of its kind. See ModelLibrary::add for what it throws.
AddedModel add_model(registry::Library& library, const AddModelRequest& request, const ModelLibrary::Progress& progress);

}  // namespace veneer::engine
