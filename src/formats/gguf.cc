#include "formats/gguf.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "formats/byte_reader.h"
#include "formats/gguf_metadata.h"
#include "formats/latin1.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr uint32_t kMaxDims = 4;

struct Info {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  uint64_t offset = 0;
};

Error broken(const char* text, const std::string& file, const std::string& tensor, ErrorCode code = ErrorCode::corrupt, Error::Context more = {}) {
  Error::Context context = {{"file", file}};
  if (!tensor.empty()) context.emplace_back("tensor", tensor);
  context.insert(context.end(), more.begin(), more.end());
  return Error(code, text, std::move(context));
}

uint64_t padded(uint64_t size, uint64_t alignment) { return checked_add(size, alignment - 1, "gguf file") / alignment * alignment; }

// Extents are stored with the fastest dimension first.
Shape read_shape(ByteReader& reader, const std::string& file, const std::string& tensor) {
  const uint32_t rank = reader.u32();
  if (rank > kMaxDims) throw broken("gguf: shape has too many dimensions", file, tensor, ErrorCode::corrupt, {{"most", std::to_string(kMaxDims)}});
  std::array<int64_t, kMaxDims> dims{};
  for (uint32_t i = 0; i < rank; ++i) {
    const uint64_t extent = reader.u64();
    if (extent > INT64_MAX) throw broken("gguf: extent is too large", file, tensor);
    dims[rank - 1 - i] = static_cast<int64_t>(extent);
  }
  try {
    return Shape(std::span<const int64_t>(dims.data(), rank));
  } catch (const Error& error) {
    throw error.with("file", file).with("tensor", tensor);
  }
}

Info read_info(ByteReader& reader, const std::string& file) {
  Info out;
  out.name = read_gguf_text(reader, kMaxGgufNameBytes, file);
  if (!is_utf8(out.name)) throw broken("gguf: tensor name is not UTF-8", file, "");
  out.shape = read_shape(reader, file, out.name);
  const uint32_t type = reader.u32();
  const std::optional<DType> dtype = dtype_of_gguf(type);
  if (!dtype) {
    throw broken("gguf: type of the tensor is not supported", file, out.name, ErrorCode::unsupported, {{"ggml type", std::to_string(type)}});
  }
  out.dtype = *dtype;
  // A row is made of whole blocks.
  const int64_t row = out.shape.rank() > 0 ? out.shape[out.shape.rank() - 1] : 1;
  if (static_cast<uint64_t>(row) % block_size(out.dtype).elements != 0) {
    throw broken("gguf: row of the tensor is not made of whole blocks", file, out.name, ErrorCode::corrupt,
                 {{"row", std::to_string(row)}, {"block", std::to_string(block_size(out.dtype).elements)}});
  }
  out.offset = reader.u64();
  return out;
}

Shape original_shape(const GgufMetadata& metadata, const Info& info, const std::string& file) {
  const auto found = metadata.original_shapes.find(info.name);
  if (found == metadata.original_shapes.end()) return info.shape;
  try {
    const Shape shape{std::span<const int64_t>(found->second)};
    if (shape.num_elements() == info.shape.num_elements()) return shape;
  } catch (const Error&) {
    // Told below.
  }
  throw broken("gguf: original shape does not fit the tensor", file, info.name);
}

// Padding says nothing; where it does, the tensor before it is longer than its shape.
void require_zeros(std::span<const std::byte> padding, const std::string& file, const std::string& tensor) {
  if (std::ranges::any_of(padding, [](std::byte b) { return b != std::byte{0}; }))
    throw broken("gguf: padding behind the tensor is not zero", file, tensor);
}

}  // namespace

ModelContents read_gguf(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& file) {
  ByteReader reader(bytes, file, "gguf: file is truncated");
  (void)reader.u32();  // "GGUF"
  const uint32_t version = reader.u32();
  if (version != 2 && version != 3) {
    throw broken("gguf: version is not supported", file, "", ErrorCode::unsupported, {{"version", std::to_string(version)}, {"known", "2, 3"}});
  }
  const uint64_t num_tensors = reader.u64(), num_pairs = reader.u64();
  if (num_tensors > kMaxGgufTensors || num_pairs > kMaxGgufPairs) throw broken("gguf: too many tensors or keys", file, "");
  const GgufMetadata metadata = read_gguf_metadata(reader, num_pairs, file);
  std::vector<Info> infos;
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < num_tensors; ++i) {
    infos.push_back(read_info(reader, file));
    if (!names.insert(infos.back().name).second) throw broken("gguf: tensor name is there twice", file, infos.back().name);
  }
  const uint64_t begin = padded(reader.position(), metadata.alignment);
  if (begin > bytes.size() && num_tensors > 0) throw broken("gguf: file is truncated: it ends before its data", file, "");

  ModelContents out{.format = "gguf", .metadata = metadata.text};
  uint64_t position = 0;  // of the next tensor, in the data
  uint64_t end = 0;
  for (const Info& info : infos) {
    if (info.offset != position) {
      throw broken("gguf: tensor does not follow the one before it", file, info.name, ErrorCode::corrupt,
                   {{"offset", std::to_string(info.offset)}, {"want", std::to_string(position)}});
    }
    end = checked_add(position, storage_bytes(info.dtype, static_cast<uint64_t>(info.shape.num_elements())), "gguf file");
    if (end > bytes.size() - begin) throw broken("gguf: file is truncated: tensor leaves it", file, info.name);
    position = padded(end, metadata.alignment);
    require_zeros(bytes.subspan(begin + end, std::min(position, bytes.size() - begin) - end), file, info.name);
    out.tensors.push_back({info.name, Tensor::view(original_shape(metadata, info, file), info.dtype, bytes.data() + begin + info.offset, owner)});
  }
  if (bytes.size() > begin && bytes.size() - begin > position) throw broken("gguf: bytes after the last tensor", file, "");
  return out;
}

}  // namespace veneer::formats
