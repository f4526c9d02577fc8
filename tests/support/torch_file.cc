#include "support/torch_file.h"

#include <zlib.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace veneer::testing {
namespace {

std::string little_endian(uint64_t value, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; ++i) out += static_cast<char>((value >> (8 * i)) & 0xffU);
  return out;
}

std::string text(const std::string& value) { return "X" + little_endian(value.size(), 4) + value; }
std::string integer(int64_t value) { return "J" + little_endian(static_cast<uint64_t>(value), 4); }

const char* storage_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "ctorch\nFloatStorage\n";
    case DType::f16: return "ctorch\nHalfStorage\n";
    case DType::bf16: return "ctorch\nBFloat16Storage\n";
    case DType::i64: return "ctorch\nLongStorage\n";
    default: throw std::invalid_argument("no storage for the dtype");
  }
}

std::string rebuilt(const Tensor& tensor, size_t key) {
  std::string sizes, strides;
  for (int i = 0; i < tensor.rank(); ++i) {
    sizes += integer(tensor.dim(i));
    strides += integer(tensor.shape().num_elements_from(i + 1));
  }
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + storage_of(tensor.dtype()) + text(std::to_string(key)) + text("cpu") +
         integer(tensor.num_elements()) + "tQ" + integer(0) + "(" + sizes + "t(" + strides + "t\x89" + "ccollections\nOrderedDict\n)RtR";
}

// A zip archive of stored entries.
std::string zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out, directory;
  for (const auto& [name, content] : entries) {
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    const std::string facts = little_endian(20, 2) + little_endian(0, 8) + little_endian(crc, 4) + little_endian(content.size(), 4) +
                              little_endian(content.size(), 4) + little_endian(name.size(), 2) + little_endian(0, 2);
    directory.append("PK\x01\x02").append(little_endian(20, 2)).append(facts).append(little_endian(0, 10)).append(little_endian(out.size(), 4));
    directory.append(name);
    out.append("PK\x03\x04").append(facts).append(name).append(content);
  }
  const std::string count = little_endian(entries.size(), 2);
  return out + directory + "PK\x05\x06" + little_endian(0, 4) + count + count + little_endian(directory.size(), 4) + little_endian(out.size(), 4) +
         little_endian(0, 2);
}

}  // namespace

std::string torch_checkpoint(const formats::ModelFile& file, const std::string& root) {
  std::string pickle = "\x80\x02}(" + text("global_step") + integer(1) + text("state_dict") + "}(";
  std::vector<std::pair<std::string, std::string>> entries = {{root + "/data.pkl", ""}};
  for (const auto& entry : file.entries()) {
    const Tensor tensor = file.tensor(entry.name);
    const size_t key = entries.size() - 1;
    pickle += text(entry.name) + rebuilt(tensor, key);
    entries.emplace_back(root + "/data/" + std::to_string(key), std::string(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes()));
  }
  entries.front().second = pickle + "uu.";
  entries.emplace_back(root + "/version", "3\n");
  return zip(entries);
}

}  // namespace veneer::testing
