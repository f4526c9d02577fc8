#include "registry/model_reference.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "formats/shard_index.h"

namespace veneer::registry {
namespace {

constexpr std::string_view kHashPrefix = "sha256:";
constexpr size_t kKeyDigits = 16;
constexpr size_t kHashDigits = 64;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

ModelReference parse_reference(std::string_view text) {
  ModelReference out;
  out.text = text;
  if (lower(text.substr(0, kHashPrefix.size())) == kHashPrefix) {
    out.kind = ModelReference::Kind::broken_hash;
    const std::string_view digits = text.substr(kHashPrefix.size());
    if (digits.size() >= kKeyDigits && digits.size() <= kHashDigits && is_hex(digits)) {
      out.kind = ModelReference::Kind::hash;
      out.hash = lower(digits);
    }
    return out;
  }
  const size_t at = text.rfind('@');
  if (at != std::string_view::npos && at > 0 && at + 1 < text.size() && text.find_first_of("/\\", at) == std::string_view::npos) {
    out.kind = ModelReference::Kind::version;
    return out;
  }
  const size_t dash = text.rfind('-');
  if (dash != std::string_view::npos && dash > 0 && text.size() - dash - 1 == kKeyDigits && is_hex(text.substr(dash + 1))) {
    out.kind = ModelReference::Kind::cache_key;
    out.stem = text.substr(0, dash);
    out.hash = lower(text.substr(dash + 1));
  }
  return out;
}

std::string stem_of_model(std::string_view file_name) {
  const std::filesystem::path name = std::filesystem::path(file_name).filename();
  const std::string text = name.string();
  return formats::is_index_name(text) ? text.substr(0, text.size() - formats::kIndexEnding.size()) : name.stem().string();
}

std::string cache_key(std::string_view file_name, std::string_view sha256) {
  return stem_of_model(file_name) + "-" + std::string(sha256.substr(0, kKeyDigits));
}

}  // namespace veneer::registry
