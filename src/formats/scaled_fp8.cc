#include "formats/scaled_fp8.h"

#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::array<std::string_view, 2> kScales = {".scale_weight", ".weight_scale"};
// Of a layer's input, which is not quantised here, and notes on how a layer is stored.
constexpr std::array<std::string_view, 3> kOthers = {".scale_input", ".input_scale", ".comfy_quant"};
constexpr std::string_view kMarker = "scaled_fp8";

bool is_marker(std::string_view name) { return name == kMarker || (name.ends_with(kMarker) && name[name.size() - kMarker.size() - 1] == '.'); }

// The name in front of one of the suffixes.
std::optional<std::string_view> stem_of(std::string_view name, std::span<const std::string_view> suffixes) {
  for (const std::string_view suffix : suffixes) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return std::nullopt;
}

float read_scale(const ModelFile& file, const std::string& name) {
  const Tensor tensor = file.tensor(name);
  const Error::Context context = {
      {"file", file.name()}, {"tensor", name}, {"shape", tensor.shape().to_string()}, {"dtype", std::string(to_string(tensor.dtype()))}};
  if (tensor.num_elements() != 1 || tensor.rank() > 1) throw Error(ErrorCode::unsupported, "scaled fp8: scale is not a single number", context);
  if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::bf16 && tensor.dtype() != DType::f16) {
    throw Error(ErrorCode::unsupported, "scaled fp8: scale is not f32, bf16 or f16", context);
  }
  float scale = 0;
  copy_to_f32(tensor, std::span(&scale, 1));
  if (!(std::isfinite(scale) && scale > 0)) throw Error(ErrorCode::corrupt, "scaled fp8: scale is not a finite number above 0", context);
  return scale;
}

bool is_fp8(DType dtype) { return dtype == DType::f8_e4m3fn || dtype == DType::f8_e5m2; }

}  // namespace

bool is_fp8_companion(std::string_view tensor) { return is_marker(tensor) || stem_of(tensor, kScales) || stem_of(tensor, kOthers); }

std::map<std::string, Tensor, std::less<>> tensors_with_scales(const ModelFile& file) {
  std::map<std::string, Tensor, std::less<>> out;
  std::map<std::string, float, std::less<>> scales;  // by weight
  for (const ModelFile::Entry& entry : file.entries()) {
    if (const auto stem = stem_of(entry.name, kScales)) {
      const std::string weight = std::string(*stem) + std::string(kWeight);
      if (file.contains(weight)) {
        const float scale = read_scale(file, entry.name);
        const auto [known, fresh] = scales.emplace(weight, scale);
        if (!fresh && known->second != scale)
          throw Error(ErrorCode::corrupt, "scaled fp8: weight has two scales", {{"file", file.name()}, {"tensor", weight}});
        continue;
      }
    }
    const auto other = stem_of(entry.name, kOthers);
    if (is_marker(entry.name) || (other && file.contains(std::string(*other) + std::string(kWeight)))) continue;
    out.emplace(entry.name, file.tensor(entry.name));
  }
  for (const auto& [weight, scale] : scales) {
    Tensor& tensor = out.find(weight)->second;
    if (is_fp8(tensor.dtype())) {
      tensor = tensor.with_scale(scale);
    } else if (scale != 1) {
      throw Error(ErrorCode::unsupported, "scaled fp8: weight with a scale is not fp8",
                  {{"file", file.name()}, {"tensor", weight}, {"dtype", std::string(to_string(tensor.dtype()))}});
    }
  }
  return out;
}

}  // namespace veneer::formats
