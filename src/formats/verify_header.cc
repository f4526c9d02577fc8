#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "formats/file_descriptor.h"
#include "formats/gguf.h"
#include "formats/model_file.h"
#include "formats/sha256.h"
#include "formats/write_model.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr size_t kPieceBytes = size_t{4} << 20;

// Where the bytes behind the header begin: in safetensors and GGUF the first tensor in the file begins there.
std::optional<uint64_t> body_begin(const ModelFile& file) {
  if (file.format() != "safetensors" && file.format() != "gguf") return std::nullopt;
  std::optional<uint64_t> first;
  for (const ModelFile::Entry& entry : file.entries()) {
    const auto place = file.place(file.tensor(entry.name));
    if (place && (!first || place->begin < *first)) first = place->begin;
  }
  return first;
}

std::string hash_from(const std::filesystem::path& path, uint64_t begin, const std::function<void(uint64_t, uint64_t)>& progress) {
  const OpenFile file = open_for_reading(path);
  (void)::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<std::byte> piece(kPieceBytes);
  Sha256 hash;
  for (uint64_t at = begin; at < file.size_bytes;) {
    const size_t want = static_cast<size_t>(std::min<uint64_t>(piece.size(), file.size_bytes - at));
    const ssize_t count = ::pread(file.fd.get(), piece.data(), want, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("file cannot be read", path, errno);
    if (count == 0) throw Error(ErrorCode::corrupt, "file was made shorter while it was read", {{"file", path.string()}});
    hash.add(std::span(piece).first(static_cast<size_t>(count)));
    at += static_cast<uint64_t>(count);
    if (progress) progress(at - begin, file.size_bytes - begin);
  }
  return hash.finish_hex();
}

}  // namespace

std::optional<std::string> checksum_of_tensors(const std::filesystem::path& path, const std::function<void(uint64_t, uint64_t)>& progress) {
  const std::optional<uint64_t> begin = body_begin(ModelFile::open(path));
  if (!begin) return std::nullopt;
  return hash_from(path, *begin, progress);
}

void verify_header(const std::filesystem::path& path, std::span<const TensorStream> tensors, const std::string& checksum) {
  const auto fail = [&](const char* text, const std::string& tensor) {
    return Error(ErrorCode::corrupt, text, {{"file", path.string()}, {"tensor", tensor}});
  };
  const ModelFile file = ModelFile::open(path);
  if (file.entries().size() != tensors.size()) throw fail("written file holds another number of tensors", "");
  for (const TensorStream& want : tensors) {
    if (!file.contains(want.name)) throw fail("written file lacks a tensor", want.name);
    const Tensor got = file.tensor(want.name);
    if (got.dtype() != want.dtype || got.shape() != want.shape) throw fail("written file holds another tensor", want.name);
  }
  const auto told = file.metadata().find(std::string(kTensorsSha256));
  if (told == file.metadata().end() || told->second != checksum) throw fail("written file tells another checksum", "");
}

}  // namespace veneer::formats
