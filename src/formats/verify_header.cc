#include "formats/gguf.h"
#include "formats/model_file.h"
#include "formats/write_model.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

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

}  // namespace

std::optional<ToldChecksum> told_checksum(const ModelFile& file) {
  const auto told = file.metadata().find(std::string(kTensorsSha256));
  if (told == file.metadata().end()) return std::nullopt;
  const std::optional<uint64_t> begin = body_begin(file);
  return begin ? std::optional(ToldChecksum{told->second, *begin}) : std::nullopt;
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
