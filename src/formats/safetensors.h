// Reading (mapped, zero-copy) and writing of safetensors files. Grammar: docs/formats/safetensors.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace veneer::formats {

// An open file. Tensors are read-only views that keep the mapping alive on their own; the object is cheap to copy and immutable.
class SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    uint64_t begin = 0;  // offsets into the data part
    uint64_t end = 0;
  };

  // Maps the file and checks its whole header; touches no tensor byte. Throws Error(not_found) or Error(corrupt) naming file, tensor and rule.
  static SafetensorsFile open(const std::filesystem::path& path);
  // The same over bytes in memory; `name` stands for the file in errors.
  static SafetensorsFile parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name);

  const std::string& name() const;
  // In order of the offsets.
  const std::vector<Entry>& entries() const;
  const std::map<std::string, std::string>& metadata() const;
  bool contains(std::string_view tensor) const;
  // Throws Error(not_found) naming file and tensor.
  Tensor tensor(std::string_view name) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

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
