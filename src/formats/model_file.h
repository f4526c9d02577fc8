// A file of tensors in any format that Veneer reads: safetensors (also in shards), torch's .ckpt and .pt, GGUF. Told apart by content, never by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace veneer::formats {

struct ModelContents;

// An open file. Tensors are read-only views that keep the mapping alive on their own; the object is cheap to copy and immutable, and may be used from
// any thread.
class ModelFile {
 public:
  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    uint64_t size_bytes = 0;  // as stored
  };
  // Where bytes lie on the disk.
  struct Place {
    std::filesystem::path file;
    uint64_t begin = 0;
  };

  // Maps the file (or the shards that an index names, which lie beside it) and checks its whole header; touches no tensor's bytes. Throws
  // Error(not_found), Error(corrupt), or Error(unsupported) for what no reader knows, each naming file, tensor and rule.
  static ModelFile open(const std::filesystem::path& path);
  // The same over bytes in memory; `name` stands for the file in errors. An index is unsupported: its shards are files.
  static ModelFile parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name);

  const std::string& name() const&;
  const std::string& name() const&& = delete;
  // "safetensors", "sharded safetensors", "torch zip", "torch pickle", "gguf".
  std::string_view format() const;
  // In the order of the file.
  const std::vector<Entry>& entries() const&;
  const std::vector<Entry>& entries() const&& = delete;  // it would be gone in the body of a range-for
  // What the format keeps beside its tensors, as text. Texts of torch and GGUF that are no UTF-8 are left out.
  const std::map<std::string, std::string>& metadata() const&;
  const std::map<std::string, std::string>& metadata() const&& = delete;
  bool contains(std::string_view tensor) const;
  // As stored: quantised and fp8 tensors keep their bytes, and companions of scaled fp8 are tensors like others (see scaled_fp8.h). A torch tensor
  // that does not lie row-major is copied at each call. Throws Error(not_found) naming file and tensor.
  Tensor tensor(std::string_view name) const;

  // Of a tensor, or a slice of one, that is a view into the file; nullopt for one in memory of its own.
  std::optional<Place> place(const Tensor& tensor) const;
  // The files that were opened: one, or the index and the shards in order of their names.
  std::vector<std::filesystem::path> files() const;
  // Lets the system take back the memory of pages of the file that the bytes lie on; they are read again when they are touched. Does nothing for
  // memory that is not the file's.
  void drop_pages(std::span<const std::byte> bytes) const;

 private:
  struct State;
  static ModelFile make(ModelContents contents, std::string name);
  std::shared_ptr<const State> state_;
};

}  // namespace veneer::formats
