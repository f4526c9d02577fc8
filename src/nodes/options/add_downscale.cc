#include "nodes/options/add_downscale.h"

#include <algorithm>

#include "sampling/nchw.h"

namespace veneer::nodes {
namespace {

// [N, H, W, C] -> [N, height, width, C]
Tensor resized(const Tensor& h, int64_t height, int64_t width, sampling::ResampleMethod method) {
  return sampling::to_pixels(sampling::resample(sampling::to_planes(h), width, height, method));
}

}  // namespace

variant::Identified<Tensor(const Tensor&, const variant::PatchCall&)> shrink_input_block(const DownscaleSettings& settings,
                                                                                         const sampling::ModelSampling& model_sampling) {
  const double sigma_start = model_sampling.percent_to_sigma(settings.start_percent);
  const double sigma_end = model_sampling.percent_to_sigma(settings.end_percent);
  const Fingerprint id = FingerprintBuilder()
                             .add("PatchModelAddDownscale shrink")
                             .add(settings.block_number)
                             .add(settings.factor)
                             .add(sigma_start)
                             .add(sigma_end)
                             .add(settings.shrink)
                             .finish();
  return {id, [=](const Tensor& h, const variant::PatchCall& call) {
            if (settings.factor == 1 || call.position.block_index != settings.block_number || call.sigmas.empty()) return h;
            const auto sigma = static_cast<double>(call.sigmas.front());
            if (sigma > sigma_start || sigma < sigma_end) return h;
            const auto scaled = [&](int64_t extent) { return sampling::round_half_even(static_cast<double>(extent) * (1.0 / settings.factor)); };
            return resized(h, scaled(h.dim(1)), scaled(h.dim(2)), settings.shrink);
          }};
}

variant::Identified<variant::BlockAndSkip(const variant::BlockAndSkip&, const variant::PatchCall&)> grow_to_skip(sampling::ResampleMethod method) {
  const Fingerprint id = FingerprintBuilder().add("PatchModelAddDownscale grow").add(method).finish();
  return {id, [=](const variant::BlockAndSkip& both, const variant::PatchCall&) -> variant::BlockAndSkip {
            if (both.h.dim(1) == both.skip.dim(1) && both.h.dim(2) == both.skip.dim(2)) return both;
            return {resized(both.h, both.skip.dim(1), both.skip.dim(2), method), both.skip};
          }};
}

}  // namespace veneer::nodes
