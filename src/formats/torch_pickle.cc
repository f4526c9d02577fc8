#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/checked.h"
#include "formats/byte_reader.h"
#include "formats/pickle.h"
#include "formats/torch_file.h"
#include "formats/torch_tensors.h"

namespace veneer::formats {
namespace {

// 0x1950a86a20f9469cfc6c as a pickled integer of ten bytes, in protocol 2.
constexpr std::array<uint8_t, 15> kBegin = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};
constexpr int64_t kProtocol = 1001;

// The pickles one after another.
class Sequence {
 public:
  Sequence(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}
  NodeId next(PickleData& data) {
    const PickleResult result = read_pickle(bytes_, position_, file_, data);
    position_ = result.end;
    return result.root;
  }
  size_t position() const { return position_; }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  size_t position_ = kBegin.size();
};

void check_system(const PickleData& data, NodeId protocol, NodeId system, const std::string& file) {
  const PickleNode* little = data.find(data[system], "little_endian");
  if (data[protocol].integer != kProtocol) throw Error(ErrorCode::unsupported, "torch: protocol is not known", {{"file", file}});
  if (little == nullptr || little->kind != NodeKind::boolean) throw Error(ErrorCode::corrupt, "torch: byte order is not told", {{"file", file}});
  if (little->integer == 0) throw Error(ErrorCode::unsupported, "torch: byte order is not supported", {{"file", file}, {"byteorder", "big"}});
}

using Storages = std::map<std::string_view, TorchStorage, std::less<>>;

// Every storage that the pickle speaks of, by key. One key has one size.
Storages storages_of(const PickleData& data, const std::string& file) {
  Storages out;
  for (const NodeId id : data.persistent) {
    const TorchStorage storage = torch_storage(data, data[id], file);
    const auto [known, fresh] = out.emplace(storage.key, storage);
    if (!fresh && known->second.size_bytes() != storage.size_bytes()) {
      throw Error(ErrorCode::corrupt, "torch: storage has two sizes", {{"file", file}, {"storage", std::string(storage.key.substr(0, 64))}});
    }
  }
  return out;
}

using Bytes = std::map<std::string_view, std::span<const std::byte>, std::less<>>;

// Behind the pickles: for each key of the list, the number of elements and then the elements.
Bytes bytes_of(const PickleData& data, const PickleNode& keys, const Storages& storages, ByteReader& reader, const std::string& file) {
  if (keys.kind != NodeKind::list) throw Error(ErrorCode::corrupt, "torch: list of storages is missing", {{"file", file}});
  Bytes out;
  for (const NodeId id : keys.items) {
    const std::string_view key = data[id].text;
    const auto storage = storages.find(key);
    if (data[id].kind != NodeKind::string || storage == storages.end()) {
      throw Error(ErrorCode::corrupt, "torch: storage belongs to no tensor", {{"file", file}, {"storage", std::string(key.substr(0, 64))}});
    }
    const uint64_t count = reader.u64();
    if (count != storage->second.num_elements) {
      throw Error(ErrorCode::corrupt, "torch: storage has another size than the pickle says",
                  {{"file", file},
                   {"storage", std::string(key.substr(0, 64))},
                   {"want", std::to_string(storage->second.num_elements)},
                   {"got", std::to_string(count)}});
    }
    out[key] = reader.take(storage->second.size_bytes());
  }
  if (reader.remaining() != 0) {
    throw Error(ErrorCode::corrupt, "torch: bytes after the last storage", {{"file", file}, {"bytes", std::to_string(reader.remaining())}});
  }
  return out;
}

}  // namespace

bool is_torch_pickle(std::span<const std::byte> bytes) {
  return bytes.size() >= kBegin.size() &&
         std::equal(kBegin.begin(), kBegin.end(), bytes.begin(), [](uint8_t a, std::byte b) { return std::byte{a} == b; });
}

ModelContents read_torch_pickle(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file) {
  Sequence pickles(bytes, file);
  PickleData data;
  const NodeId protocol = pickles.next(data), system = pickles.next(data);
  check_system(data, protocol, system, file);
  const NodeId root = pickles.next(data), keys = pickles.next(data);
  const Storages storages = storages_of(data, file);
  ByteReader reader(bytes, file, "torch: file is truncated: storage leaves it");
  reader.seek(pickles.position());
  const Bytes held = bytes_of(data, data[keys], storages, reader, file);
  const StorageBytes storage = [&](const TorchStorage& wanted) {
    const auto found = held.find(wanted.key);
    if (found == held.end())
      throw Error(ErrorCode::corrupt, "torch: storage is missing", {{"file", file}, {"storage", std::string(wanted.key.substr(0, 64))}});
    if (!wanted.view_key) return found->second;
    return found->second.subspan(static_cast<size_t>(wanted.view_begin * (found->second.size() / std::max<uint64_t>(wanted.num_elements, 1))));
  };
  ModelContents out = torch_contents(data, root, storage, owner, file);
  out.format = "torch pickle";
  return out;
}

}  // namespace veneer::formats
