#include "formats/write_model.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "base/streaming_digest.h"
#include "formats/read_back.h"
#include "formats/safetensors_header.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr size_t kDigits = 64;
// Writes what lies behind the header, and has it read back and hashed.
class Body {
 public:
  Body(AtomicFile& file, uint64_t header_bytes) : file_(file), read_back_(file.temporary_path(), header_bytes), written_(header_bytes) {}
  void put(std::span<const std::byte> bytes) {
    file_.write(bytes);
    body_bytes_ += bytes.size();
    written_ += bytes.size();
    read_back_.written_to(written_);
    digest_.add(bytes);
  }
  void align(uint64_t alignment) {
    constexpr std::array<std::byte, 64> kZeros{};
    while (body_bytes_ % alignment != 0) put(std::span(kZeros).first(std::min<uint64_t>(kZeros.size(), alignment - body_bytes_ % alignment)));
  }
  uint64_t size_bytes() const { return body_bytes_; }
  // SHA-256 of what the disk holds. Throws Error(corrupt) when that is something else than what was written.
  std::string finish() {
    ReadBackDigests got = read_back_.finish();
    if (got.fingerprint != digest_.finish()) {
      throw Error(ErrorCode::corrupt, "model file: what was written reads back differently", {{"file", file_.temporary_path().string()}});
    }
    return std::move(got.sha256);
  }

 private:
  AtomicFile& file_;
  StreamingDigest digest_;
  ReadBack read_back_;
  uint64_t body_bytes_ = 0, written_ = 0;
};

void check_names(std::span<const TensorStream> tensors) {
  std::unordered_set<std::string_view> names;
  for (const TensorStream& tensor : tensors) {
    if (!names.insert(tensor.name).second) throw Error(ErrorCode::invalid, "model file: tensor name is given twice", {{"tensor", tensor.name}});
  }
}

}  // namespace

ModelHeader safetensors_model_header(std::span<const TensorStream> tensors, std::map<std::string, std::string> metadata) {
  if (tensors.size() > kMaxTensors) throw Error(ErrorCode::invalid, "safetensors: too many tensors");
  metadata[std::string(kTensorsSha256)] = digest_placeholder();
  std::vector<SafetensorsEntry> entries;
  uint64_t position = 0;
  for (const TensorStream& tensor : tensors) {
    if (tensor.name == kMetadataKey || tensor.name.size() > kMaxTensorNameBytes) {
      throw Error(ErrorCode::invalid, "safetensors: tensor name is reserved or too long", {{"tensor", tensor.name}});
    }
    if (is_quantised(tensor.dtype)) {
      throw Error(ErrorCode::invalid, "safetensors: quantised tensors have no place in this format",
                  {{"tensor", tensor.name}, {"dtype", std::string(to_string(tensor.dtype))}});
    }
    const uint64_t end = checked_add(position, storage_bytes(tensor.dtype, static_cast<uint64_t>(tensor.shape.num_elements())), "safetensors file");
    entries.push_back({tensor.name, tensor.dtype, tensor.shape, position, end});
    position = end;
  }
  const std::string json = safetensors_header_json(entries, metadata);
  if (json.size() > kMaxHeaderBytes) throw Error(ErrorCode::invalid, "safetensors: header is too long");
  ModelHeader out;
  for (size_t i = 0; i < 8; ++i) out.bytes += static_cast<char>((json.size() >> (8 * i)) & 0xffU);
  // Metadata come first, and a key with its quotes cannot be part of a value: quotes in values are escaped.
  for (const auto& [key, value] : metadata) {
    if (!is_digest_key(key)) continue;
    const std::string quoted = '"' + key + "\":\"";
    out.digests[key] = out.bytes.size() + json.find(quoted) + quoted.size();
  }
  out.bytes += json;
  return out;
}

bool is_digest_key(std::string_view key) { return key.starts_with("veneer.") && key.ends_with("_sha256"); }

std::string digest_placeholder() { return std::string(kDigits, '0'); }

std::string write_model(AtomicFile& file, TargetFormat format, std::span<const TensorStream> tensors,
                        const std::map<std::string, std::string>& metadata, const std::function<std::map<std::string, std::string>()>& late) {
  check_names(tensors);
  const ModelHeader header = format == TargetFormat::gguf ? gguf_model_header(tensors, metadata) : safetensors_model_header(tensors, metadata);
  file.write(header.bytes);
  Body body(file, header.bytes.size());
  for (const TensorStream& tensor : tensors) {
    const uint64_t end = body.size_bytes() + storage_bytes(tensor.dtype, static_cast<uint64_t>(tensor.shape.num_elements()));
    tensor.stream([&](std::span<const std::byte> bytes) { body.put(bytes); });
    if (body.size_bytes() != end) throw Error(ErrorCode::internal, "model file: tensor has another size than announced", {{"tensor", tensor.name}});
    body.align(header.alignment);
  }
  std::string checksum = body.finish();
  std::map<std::string, std::string> digests = late ? late() : std::map<std::string, std::string>();
  digests[std::string(kTensorsSha256)] = checksum;
  for (const auto& [key, digest] : digests) {
    const auto place = header.digests.find(key);
    if (place == header.digests.end() || digest.size() != kDigits)
      throw Error(ErrorCode::internal, "model file: digest has no place", {{"key", key}});
    file.overwrite(place->second, digest);
  }
  return checksum;
}

}  // namespace veneer::formats
