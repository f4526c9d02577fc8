#include <algorithm>
#include <string>

#include "base/checked.h"
#include "formats/gguf.h"
#include "formats/write_model.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr uint32_t kVersion = 3, kText = 8, kArray = 9, kI32 = 5, kU32 = 4;
constexpr size_t kMaxDims = 4;
// ggml's version of how blocks are laid out.
constexpr uint32_t kQuantisationVersion = 2;

// Little-endian numbers and texts with their length.
class Writer {
 public:
  void u32(uint32_t value) { number(value, 4); }
  void u64(uint64_t value) { number(value, 8); }
  void text(std::string_view value) {
    u64(value.size());
    bytes_ += value;
  }
  std::string& bytes() { return bytes_; }

 private:
  void number(uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xffU);
  }
  std::string bytes_;
};

uint64_t aligned(uint64_t size) { return checked_add(size, kGgufAlignment - 1, "gguf file") / kGgufAlignment * kGgufAlignment; }

bool is_flattened(const TensorStream& tensor) {
  const Shape& shape = tensor.shape;
  const int64_t row = shape.rank() > 0 ? shape[shape.rank() - 1] : 1;
  return shape.dims().size() > kMaxDims || static_cast<uint64_t>(row) % block_size(tensor.dtype).elements != 0;
}

// Facts of the source's file and not of the model.
bool is_own_key(const std::string& key) {
  return key == "general.alignment" || key == "general.file_type" || key == "general.quantization_version" ||
         key.starts_with("comfy.gguf.orig_shape.");
}

void write_shape(Writer& out, const TensorStream& tensor) {
  if (is_flattened(tensor)) {
    out.u32(1);
    out.u64(static_cast<uint64_t>(tensor.shape.num_elements()));
    return;
  }
  out.u32(static_cast<uint32_t>(tensor.shape.rank()));
  for (int i = tensor.shape.rank(); i-- > 0;) out.u64(static_cast<uint64_t>(tensor.shape[i]));
}

void write_original_shape(Writer& out, const TensorStream& tensor) {
  out.text("comfy.gguf.orig_shape." + tensor.name);
  out.u32(kArray);
  out.u32(kI32);
  out.u64(tensor.shape.dims().size());
  for (const int64_t extent : tensor.shape.dims()) out.u32(static_cast<uint32_t>(extent));
}

}  // namespace

bool gguf_holds(DType dtype) { return gguf_number_of(dtype).has_value(); }

ModelHeader gguf_model_header(std::span<const TensorStream> tensors, std::map<std::string, std::string> metadata) {
  std::erase_if(metadata, [](const auto& entry) { return is_own_key(entry.first); });
  metadata[std::string(kTensorsSha256)] = digest_placeholder();
  metadata.try_emplace("general.architecture", "unknown");
  const auto flat = static_cast<uint64_t>(std::ranges::count_if(tensors, is_flattened));
  Writer out;
  out.bytes() = "GGUF";
  out.u32(kVersion);
  out.u64(tensors.size());
  out.u64(metadata.size() + 1 + flat);
  ModelHeader header;
  for (const auto& [key, value] : metadata) {
    out.text(key);
    out.u32(kText);
    if (is_digest_key(key)) header.digests[key] = out.bytes().size() + sizeof(uint64_t);
    out.text(value);
  }
  out.text("general.quantization_version");
  out.u32(kU32);
  out.u32(kQuantisationVersion);
  for (const TensorStream& tensor : tensors) {
    if (is_flattened(tensor)) write_original_shape(out, tensor);
  }
  uint64_t offset = 0;
  for (const TensorStream& tensor : tensors) {
    const std::optional<uint32_t> type = gguf_number_of(tensor.dtype);
    if (!type || tensor.name.size() > kMaxGgufNameBytes) {
      throw Error(ErrorCode::invalid, "gguf: tensor has no place in this format",
                  {{"tensor", tensor.name}, {"dtype", std::string(to_string(tensor.dtype))}});
    }
    out.text(tensor.name);
    write_shape(out, tensor);
    out.u32(*type);
    out.u64(offset);
    offset = aligned(checked_add(offset, storage_bytes(tensor.dtype, static_cast<uint64_t>(tensor.shape.num_elements())), "gguf file"));
  }
  out.bytes().resize(aligned(out.bytes().size()));
  header.bytes = std::move(out.bytes());
  header.alignment = kGgufAlignment;
  return header;
}

}  // namespace veneer::formats
