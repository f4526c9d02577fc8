#include "formats/detect_format.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "formats/torch_file.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr std::string_view kKnown = "safetensors, torch (.ckpt, .pt, .pth, .bin), GGUF, safetensors index (.index.json)";

// The length of a safetensors header is below 2^32, and the header begins with a brace.
bool is_safetensors(std::string_view text) { return text.size() > 8 && text.substr(4, 4) == std::string_view("\0\0\0\0", 4) && text[8] == '{'; }

// What people put in a model's place.
std::string_view looks_like(std::string_view text) {
  struct Sign {
    std::string_view begin, meaning;
  };
  constexpr auto kSigns = std::to_array<Sign>({{"version https://git-lfs", "a pointer of Git LFS in place of the file"},
                                               {"<!DOCTYPE", "a web page"},
                                               {"<!doctype", "a web page"},
                                               {"<html", "a web page"},
                                               {"\x80", "a pickle that torch did not write"},
                                               {"\x93NUMPY", "a numpy array"},
                                               {"\x89HDF", "an HDF5 file"},
                                               {"\x89PNG", "a PNG picture"},
                                               {"\x1f\x8b", "gzip data"},
                                               {"7z\xbc\xaf", "a 7z archive"},
                                               {"Rar!", "a RAR archive"},
                                               {"ggml", "a GGML file, older than GGUF"},
                                               {"lmgg", "a GGML file, older than GGUF"}});
  for (const Sign& sign : kSigns) {
    if (text.starts_with(sign.begin)) return sign.meaning;
  }
  return "nothing known";
}

// Whether the bytes are the first few of a known format and no more.
bool is_cut(std::string_view text) {
  constexpr std::string_view kTorch("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e", 15);
  for (const std::string_view magic : {kTorch, std::string_view("PK\3\4"), std::string_view("GGUF")}) {
    if (magic.starts_with(text)) return true;
  }
  return text.size() <= 8 && text.size() > 4 && text.substr(4).find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

ModelFormat detect_format(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 64));
  if (is_safetensors(text)) return ModelFormat::safetensors;
  if (text.starts_with("GGUF")) return ModelFormat::gguf;
  if (text.starts_with(std::string_view("PK\3\4", 4)) || text.starts_with(std::string_view("PK\5\6", 4))) return ModelFormat::torch_zip;
  if (is_torch_pickle(bytes)) return ModelFormat::torch_pickle;
  if (file.ends_with(".safetensors")) return ModelFormat::safetensors;
  if (text.starts_with('{')) return ModelFormat::index;
  if (text.empty()) throw Error(ErrorCode::corrupt, "model file is truncated: it is empty", {{"file", file}});
  if (is_cut(text)) throw Error(ErrorCode::corrupt, "model file is truncated: it ends within its first bytes", {{"file", file}});
  throw Error(ErrorCode::unsupported, "model file: format is not known",
              {{"file", file}, {"looks_like", std::string(looks_like(text))}, {"known", std::string(kKnown)}});
}

}  // namespace veneer::formats
