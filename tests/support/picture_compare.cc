#include "support/picture_compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/image_file.h"
#include "veneer/error.h"

namespace veneer::testing {

double psnr(const std::filesystem::path& a, const std::filesystem::path& b) {
  const formats::ImageBytes first = formats::read_image(a);
  const formats::ImageBytes second = formats::read_image(b);
  if (first.width != second.width || first.height != second.height || first.channels != second.channels) {
    throw Error(ErrorCode::invalid, "test: pictures of different sizes", {{"a", a.string()}, {"b", b.string()}});
  }
  double squares = 0;
  for (size_t i = 0; i < first.pixels.size(); ++i) squares += std::pow(static_cast<double>(first.pixels[i]) - second.pixels[i], 2);
  if (squares == 0) return kEqualPsnr;
  return std::min(kEqualPsnr, 10 * std::log10(255.0 * 255.0 * static_cast<double>(first.pixels.size()) / squares));
}

double relative_error(const Tensor& got, const Tensor& want) {
  if (!got.defined() || got.shape() != want.shape()) {
    throw Error(ErrorCode::invalid, "test: tensors of different shapes",
                {{"got", got.defined() ? got.shape().to_string() : "none"}, {"want", want.shape().to_string()}});
  }
  double largest = 0;
  double worst = 0;
  for (size_t i = 0; i < want.floats().size(); ++i) {
    const double difference = std::abs(static_cast<double>(got.floats()[i]) - want.floats()[i]);
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, difference);
    largest = std::max(largest, std::abs(static_cast<double>(want.floats()[i])));
  }
  return worst / largest;
}

}  // namespace veneer::testing
