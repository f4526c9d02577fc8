// Model files written tensor by tensor and piece by piece, with a checksum of the tensors in their header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/atomic_file.h"
#include "tensor/tensor.h"

namespace veneer::formats {

// In the metadata of what is written: SHA-256 of every byte behind the header.
inline constexpr std::string_view kTensorsSha256 = "veneer.tensors_sha256";

using PutBytes = std::function<void(std::span<const std::byte>)>;

// A tensor whose bytes are made while they are written.
struct TensorStream {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  // Called once. Hands all bytes of the tensor to `put`, in order, in pieces of any size; any other number of bytes is Error(internal).
  std::function<void(const PutBytes& put)> stream;
};

enum class TargetFormat : uint8_t { safetensors, gguf };

struct ModelHeader {
  std::string bytes;
  std::map<std::string, size_t> digests;  // where the 64 digits of each digest of is_digest_key() are in `bytes`
  uint64_t alignment = 1;                 // of each tensor, and of the end, behind the header
};

// Metadata whose values are SHA-256 that may become known only when the tensors are written: "veneer.tensors_sha256", "veneer.source_sha256".
bool is_digest_key(std::string_view key);
// What stands for one until then.
std::string digest_placeholder();

// Throws Error(invalid) naming a tensor that the format cannot hold.
ModelHeader safetensors_model_header(std::span<const TensorStream> tensors, std::map<std::string, std::string> metadata);
// Metadata are texts, "general.architecture" among them. Tensors of more than four dimensions, and quantised ones whose rows are not whole blocks,
// are stored flat with their shape under "comfy.gguf.orig_shape.NAME".
ModelHeader gguf_model_header(std::span<const TensorStream> tensors, std::map<std::string, std::string> metadata);

// Whether a GGUF file can hold the dtype.
bool gguf_holds(DType dtype);

// Writes header and tensors in the order given, then puts the checksum into its place, and the digests that `late`, if given, returns by key. Returns
// the checksum. Tensors are read back from the disk meanwhile: Error(corrupt) when they are not what was written. The caller flushes and commits.
std::string write_model(AtomicFile& file, TargetFormat format, std::span<const TensorStream> tensors,
                        const std::map<std::string, std::string>& metadata, const std::function<std::map<std::string, std::string>()>& late = {});

// Reads the header of a file that write_model wrote. Throws Error(corrupt) when names, dtypes, shapes or the checksum in it are others.
void verify_header(const std::filesystem::path& path, std::span<const TensorStream> tensors, const std::string& checksum);

class ModelFile;

// What a file's header tells of the bytes behind it, which begin at `begin`.
struct ToldChecksum {
  std::string sha256;
  uint64_t begin = 0;
};
// nullopt for a file that tells none, and formats that have no such place (torch's, an index).
std::optional<ToldChecksum> told_checksum(const ModelFile& file);

}  // namespace veneer::formats
