#include "sampling/resample.h"

#include <array>
#include <string>
#include <utility>

#include "sampling/nchw.h"
#include "sampling/resample_methods.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 20;

constexpr std::array<std::pair<std::string_view, ResampleMethod>, 6> kMethods = {{{"nearest-exact", ResampleMethod::nearest_exact},
                                                                                  {"bilinear", ResampleMethod::bilinear},
                                                                                  {"area", ResampleMethod::area},
                                                                                  {"bicubic", ResampleMethod::bicubic},
                                                                                  {"bislerp", ResampleMethod::bislerp},
                                                                                  {"lanczos", ResampleMethod::lanczos}}};

// The middle of a plane that has the target's aspect ratio. Offsets are rounded, and cut from both ends alike.
Box center_box(int64_t old_width, int64_t old_height, int64_t width, int64_t height) {
  const double w = static_cast<double>(old_width);
  const double h = static_cast<double>(old_height);
  const double old_aspect = w / h;
  const double new_aspect = static_cast<double>(width) / static_cast<double>(height);
  int64_t x = 0;
  int64_t y = 0;
  if (old_aspect > new_aspect) x = round_half_even((w - w * (new_aspect / old_aspect)) / 2);
  if (old_aspect < new_aspect) y = round_half_even((h - h * (old_aspect / new_aspect)) / 2);
  return {y, x, old_height - 2 * y, old_width - 2 * x};
}

}  // namespace

ResampleMethod resample_method_from_string(std::string_view name) {
  std::string allowed;
  for (const auto& [text, method] : kMethods) {
    if (text == name) return method;
    allowed += (allowed.empty() ? "" : ", ") + std::string(text);
  }
  throw Error(ErrorCode::invalid, "resample: unknown method", {{"method", std::string(name)}, {"allowed", allowed}});
}

std::string_view to_string(ResampleMethod method) {
  for (const auto& [text, value] : kMethods) {
    if (value == method) return text;
  }
  return "";
}

Crop crop_from_string(std::string_view name) {
  if (name == "disabled") return Crop::disabled;
  if (name == "center") return Crop::center;
  throw Error(ErrorCode::invalid, "resample: unknown crop", {{"crop", std::string(name)}, {"allowed", "disabled, center"}});
}

Tensor resample(const Tensor& samples, int64_t width, int64_t height, ResampleMethod method, Crop crop) {
  Tensor planes = require_f32(samples, 4, "resample");
  if (planes.dim(2) < 1 || planes.dim(3) < 1 || planes.dim(2) > kMaxExtent || planes.dim(3) > kMaxExtent) {
    throw Error(ErrorCode::invalid, "resample: source has an extent out of range", {{"shape", planes.shape().to_string()}});
  }
  if (width < 1 || height < 1 || width > kMaxExtent || height > kMaxExtent) {
    throw Error(ErrorCode::invalid, "resample: target extent out of range", {{"width", std::to_string(width)}, {"height", std::to_string(height)}});
  }
  if (crop == Crop::center) {
    const Box box = center_box(planes.dim(3), planes.dim(2), width, height);
    if (box.width < 1 || box.height < 1) {
      throw Error(ErrorCode::invalid, "resample: nothing is left after the crop to the target's aspect ratio",
                  {{"shape", planes.shape().to_string()}, {"width", std::to_string(width)}, {"height", std::to_string(height)}});
    }
    if (box.width != planes.dim(3) || box.height != planes.dim(2)) planes = crop_planes(planes, box);
  }
  switch (method) {
    case ResampleMethod::bislerp: return detail::resample_bislerp(planes, width, height);
    case ResampleMethod::lanczos: return detail::resample_lanczos(planes, width, height);
    default: return detail::resample_separable(planes, width, height, method);
  }
}

}  // namespace veneer::sampling
