// Reading (mapped, zero-copy) and writing of safetensors files. Grammar: docs/formats/safetensors.md. Files are opened by ModelFile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formats/model_contents.h"
#include "tensor/tensor.h"

namespace veneer::formats {

// A reader (ReadModel): checks the whole header and touches no tensor byte. Tensors are in order of the offsets. Throws Error(corrupt) naming file,
// tensor and rule.
ModelContents read_safetensors(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file);

// Writes tensors in the given order with `metadata`, to a temporary name first, then renames: `path` is absent, old or whole at any moment.
void write_safetensors(const std::filesystem::path& path, std::span<const std::pair<std::string, Tensor>> tensors,
                       const std::map<std::string, std::string>& metadata = {});

class AtomicFile;

// A tensor that is made when it is written, so that a file needs the memory of its largest tensor only.
struct TensorSource {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  // Called once. Throws Error; a result of another dtype or shape is Error(internal).
  std::function<Tensor()> make;
};

// The same into a file that the caller commits.
void write_safetensors(AtomicFile& file, std::span<const TensorSource> tensors, const std::map<std::string, std::string>& metadata = {});

}  // namespace veneer::formats
