// Files written by torch.save, with weights that stay where they lie in the file. Grammar: docs/formats/torch.md.
#pragma once

#include "formats/model_contents.h"

namespace veneer::formats {

// The zip form (torch 1.6 and later). Throws as read_pickle and ZipArchive do; Error(unsupported) for archives that are no such file.
ModelContents read_torch_zip(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file);

// The form before: pickles one after another, then the storages.
ModelContents read_torch_pickle(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file);

// Whether the bytes begin as the older form does.
bool is_torch_pickle(std::span<const std::byte> bytes);

}  // namespace veneer::formats
