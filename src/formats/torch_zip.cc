#include <string>

#include "formats/pickle.h"
#include "formats/torch_file.h"
#include "formats/torch_tensors.h"
#include "formats/zip_archive.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr std::string_view kPickle = "data.pkl";

// The folder that everything lies in, with its slash: any name, or none.
std::string_view root_of(const ZipArchive& archive, const std::string& file) {
  for (const ZipEntry& entry : archive.entries()) {
    if (!entry.name.ends_with(kPickle)) continue;
    const std::string_view root = entry.name.substr(0, entry.name.size() - kPickle.size());
    if (root.empty() || root.find('/') == root.size() - 1) return root;
  }
  throw Error(ErrorCode::unsupported, "torch: zip archive holds no data.pkl, so it is none of torch's", {{"file", file}});
}

void check_kind(const ZipArchive& archive, const std::string& root, const std::string& file) {
  if (archive.find(root + "constants.pkl") != nullptr) {
    throw Error(ErrorCode::unsupported, "torch: file is a compiled model (TorchScript), which holds code", {{"file", file}});
  }
  const ZipEntry* order = archive.find(root + "byteorder");
  if (order == nullptr) return;
  const std::string_view text(reinterpret_cast<const char*>(order->bytes.data()), order->bytes.size());
  if (text != "little")
    throw Error(ErrorCode::unsupported, "torch: byte order is not supported", {{"file", file}, {"byteorder", std::string(text.substr(0, 16))}});
}

void require_stored(const ZipEntry& entry, const std::string& file) {
  if (!entry.compressed) return;
  throw Error(ErrorCode::unsupported, "torch: entry is compressed; only stored ones can be mapped",
              {{"file", file}, {"entry", std::string(entry.name)}});
}

}  // namespace

ModelContents read_torch_zip(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file) {
  const ZipArchive archive = ZipArchive::parse(bytes, file);
  const std::string root(root_of(archive, file));
  check_kind(archive, root, file);
  const ZipEntry& pickle = *archive.find(root + std::string(kPickle));
  require_stored(pickle, file);
  if (!ZipArchive::crc_fits(pickle)) {
    throw Error(ErrorCode::corrupt, "torch: checksum of the pickle does not fit", {{"file", file}, {"entry", std::string(pickle.name)}});
  }
  PickleData data;
  const PickleResult result = read_pickle(pickle.bytes, 0, file, data);
  const StorageBytes storage = [&](const TorchStorage& wanted) {
    const ZipEntry* entry = archive.find(root + "data/" + std::string(wanted.key));
    if (entry == nullptr)
      throw Error(ErrorCode::corrupt, "torch: storage is missing", {{"file", file}, {"storage", std::string(wanted.key.substr(0, 64))}});
    require_stored(*entry, file);
    if (entry->bytes.size() != wanted.size_bytes()) {
      throw Error(ErrorCode::corrupt, "torch: storage has another size than the pickle says",
                  {{"file", file},
                   {"storage", std::string(wanted.key)},
                   {"want", std::to_string(wanted.size_bytes())},
                   {"got", std::to_string(entry->bytes.size())}});
    }
    return entry->bytes;
  };
  ModelContents out = torch_contents(data, result.root, storage, owner, file);
  out.format = "torch zip";
  return out;
}

}  // namespace veneer::formats
