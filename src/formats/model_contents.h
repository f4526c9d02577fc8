// What every reader of a model format hands to ModelFile.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace veneer::formats {

// Elements that do not lie row-major one after another: element [i, j, ...] is number i * strides[0] + j * strides[1] + ... of those stored.
struct StridedLayout {
  Shape shape;
  std::vector<int64_t> strides;
};

struct StoredTensor {
  std::string name = {};
  Tensor stored = {};                                     // a view; of rank 1 where `layout` is given
  std::shared_ptr<const StridedLayout> layout = nullptr;  // mostly null

  const Shape& shape() const { return layout ? layout->shape : stored.shape(); }
};

// A file that was opened, and the bytes of it that tensors are views into; none for an index.
struct SourceBytes {
  std::filesystem::path path;
  std::span<const std::byte> bytes;
};

struct ModelContents {
  std::string_view format;  // "safetensors", "sharded safetensors", "torch zip", "torch pickle", "gguf"
  std::vector<StoredTensor> tensors = {};
  std::map<std::string, std::string> metadata = {};
  std::vector<SourceBytes> sources = {};
};

// A reader: checks what it needs to hand out views, and reads no tensor's bytes. `owner` keeps `bytes` alive and is not null; `file` names them in
// errors. Throws Error.
using ReadModel = ModelContents (*)(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file);

// The elements row-major, in memory of their own. Requires `layout`.
Tensor materialise(const StoredTensor& tensor);

}  // namespace veneer::formats
