// From what a pickle of torch describes to tensors: the calls that rebuild them are read, not made.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_contents.h"
#include "formats/pickle.h"

namespace veneer::formats {

// What a persistent id says of a storage.
struct TorchStorage {
  std::string_view key;
  std::optional<DType> dtype;  // nullopt: bytes, whose meaning the tensor knows
  uint64_t num_elements = 0;
  // A window of the storage `key` under another key, in elements (the older form only).
  std::optional<std::string_view> view_key = std::nullopt;
  uint64_t view_begin = 0;

  uint64_t size_bytes() const;
};

// Throws Error(corrupt) for an id that is none of a storage, Error(unsupported) for a kind of storage that has no dtype here.
TorchStorage torch_storage(const PickleData& data, const PickleNode& persistent, const std::string& file);

// The bytes of a storage: exactly as many as it has. Throws Error(corrupt).
using StorageBytes = std::function<std::span<const std::byte>(const TorchStorage& storage)>;

// All tensors of the state dict in `root`, and what lies beside it as metadata. The state dict is the value under "state_dict", or `root` itself;
// dicts inside of it give names joined by dots. Throws Error(corrupt) naming the tensor, Error(unsupported) when there is not a single one.
ModelContents torch_contents(const PickleData& data, NodeId root, const StorageBytes& storage, const std::shared_ptr<const void>& owner,
                             const std::string& file);

}  // namespace veneer::formats
