// Any bytes as a torch file of either form, and as the pickle inside of one: an Error, or tensors that can be read to their last byte.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/pickle.h"
#include "formats/torch_file.h"
#include "formats/torch_tensors.h"
#include "veneer/error.h"

namespace {

using veneer::Tensor;
using veneer::formats::ModelContents;

void read_all(const ModelContents& contents) {
  unsigned sum = 0;
  for (const auto& stored : contents.tensors) {
    const Tensor tensor = stored.layout ? veneer::formats::materialise(stored) : stored.stored;
    for (const std::byte b : tensor.byte_span()) sum += std::to_integer<unsigned>(b);
  }
  const volatile unsigned keep = sum;
  (void)keep;
}

// The pickle alone, with storages of zeros of the size that it asks for.
ModelContents read_pickle_alone(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file) {
  constexpr uint64_t kMost = uint64_t{1} << 16;
  veneer::formats::PickleData data;
  const veneer::formats::PickleResult result = veneer::formats::read_pickle(bytes, 0, file, data);
  const auto zeros = std::make_shared<std::vector<std::byte>>(kMost);
  const veneer::formats::StorageBytes storage = [&](const veneer::formats::TorchStorage& wanted) -> std::span<const std::byte> {
    if (wanted.size_bytes() > kMost) throw veneer::Error(veneer::ErrorCode::corrupt, "fuzz: storage is large");
    return std::span(*zeros).first(static_cast<size_t>(wanted.size_bytes()));
  };
  const ModelContents out = veneer::formats::torch_contents(data, result.root, storage, owner, file);
  read_all(out);
  return {};  // the zeros end here
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto owner = std::make_shared<const char>();
  const std::string name = "fuzz";
  for (const auto read : {veneer::formats::read_torch_zip, veneer::formats::read_torch_pickle, read_pickle_alone}) {
    if (read == veneer::formats::read_torch_pickle && !veneer::formats::is_torch_pickle(bytes)) continue;
    try {
      read_all(read(bytes, owner, name));
    } catch (const veneer::Error&) {
    }
  }
  return 0;
}
