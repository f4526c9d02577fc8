#include "sampling/latent_batch.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "sampling/mask_ops.h"
#include "sampling/nchw.h"
#include "sampling/resample.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

Tensor samples_of(const Latent& latent) {
  Tensor samples = require_f32(latent.samples, 4, "latent");
  if (samples.dim(0) < 1) throw Error(ErrorCode::invalid, "latent: batch is empty", {{"shape", samples.shape().to_string()}});
  return samples;
}

// A mask with a row for each row of the batch.
Tensor mask_per_row(const Tensor& mask, int64_t rows) { return mask.dim(0) < rows ? repeat_to_batch(mask, rows) : mask; }

std::vector<int64_t> numbers_of(const Latent& latent, int64_t rows) {
  std::vector<int64_t> numbers = latent.batch_index;
  if (numbers.empty()) {
    numbers.resize(static_cast<size_t>(rows));
    std::iota(numbers.begin(), numbers.end(), int64_t{0});
  }
  return numbers;
}

}  // namespace

Latent latent_from_batch(const Latent& latent, int64_t first, int64_t length) {
  if (first < 0 || length < 1) {
    throw Error(ErrorCode::invalid, "latent: no such part of the batch", {{"first", std::to_string(first)}, {"length", std::to_string(length)}});
  }
  const Tensor samples = samples_of(latent);
  const int64_t rows = samples.dim(0);
  first = std::min(rows - 1, first);
  length = std::min(rows - first, length);
  Latent out = latent;
  out.samples = samples.slice(first, length);
  if (latent.noise_mask.defined() && latent.noise_mask.dim(0) > 1) out.noise_mask = mask_per_row(latent.noise_mask, rows).slice(first, length);
  const std::vector<int64_t> numbers = numbers_of(latent, rows);
  const int64_t count = static_cast<int64_t>(numbers.size());
  const auto at = [&](int64_t i) { return numbers.begin() + static_cast<std::ptrdiff_t>(std::min(i, count)); };
  out.batch_index.assign(at(first), at(first + length));
  return out;
}

Latent repeat_latent_batch(const Latent& latent, int64_t times) {
  if (times < 1) throw Error(ErrorCode::invalid, "latent: batch has to be repeated once or more", {{"times", std::to_string(times)}});
  const Tensor samples = samples_of(latent);
  Latent out = latent;
  out.samples = repeat_to_batch(samples, samples.dim(0) * times);
  if (latent.noise_mask.defined() && latent.noise_mask.dim(0) > 1) {
    const Tensor mask = mask_per_row(latent.noise_mask, samples.dim(0));
    out.noise_mask = repeat_to_batch(mask, mask.dim(0) * times);
  }
  if (!latent.batch_index.empty()) {
    const auto [low, high] = std::ranges::minmax(latent.batch_index);
    for (int64_t i = 1; i < times; ++i) {
      for (const int64_t number : latent.batch_index) out.batch_index.push_back(number + i * (high - low + 1));
    }
  }
  return out;
}

Latent join_latents(const Latent& a, const Latent& b) {
  const Tensor first = samples_of(a);
  Tensor second = samples_of(b);
  if (first.dim(2) != second.dim(2) || first.dim(3) != second.dim(3)) {
    second = resample(second, first.dim(3), first.dim(2), ResampleMethod::bilinear, Crop::center);
  }
  Latent out = a;
  out.batch_index = numbers_of(a, first.dim(0));
  const std::vector<int64_t> more = numbers_of(b, second.dim(0));
  out.batch_index.insert(out.batch_index.end(), more.begin(), more.end());
  out.samples = concat_batch(first, second);
  return out;
}

Latent set_noise_mask(const Latent& latent, const Tensor& mask) {
  const Tensor flat = mask_as_batch(mask);
  Latent out = latent;
  out.noise_mask = flat.reshape(Shape{flat.dim(0), 1, flat.dim(1), flat.dim(2)});
  return out;
}

}  // namespace veneer::sampling
