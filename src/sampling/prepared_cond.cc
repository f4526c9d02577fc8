#include "sampling/prepared_cond.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sampling/mask_ops.h"
#include "sampling/resample.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr int64_t kLeastMaskedArea = 8;

Error area_error(const char* text, const Box& box, const Shape& latent) {
  return Error(ErrorCode::invalid, text,
               {{"latent", latent.to_string()},
                {"y", std::to_string(box.y)},
                {"x", std::to_string(box.x)},
                {"height", std::to_string(box.height)},
                {"width", std::to_string(box.width)}});
}

Box checked_area(const Box& box, const Shape& latent) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (box.height < 1 || box.width < 1 || box.height > kMost || box.width > kMost)
    throw area_error("conditioning: area has no usable size", box, latent);
  if (box.y < 0 || box.x < 0 || box.y >= latent[2] || box.x >= latent[3])
    throw area_error("conditioning: area lies outside of the latent", box, latent);
  return box;
}

int64_t part_of(double fraction, int64_t extent) {
  constexpr double kMost = 1e6;
  const double part = fraction * static_cast<double>(extent);
  if (!(std::abs(part) <= kMost))
    throw Error(ErrorCode::invalid, "conditioning: area fraction out of range", {{"fraction", std::to_string(fraction)}});
  return round_half_even(part);
}

Box resolve_area(const std::variant<Box, FractionalBox>& area, const Shape& latent) {
  if (const Box* box = std::get_if<Box>(&area)) return checked_area(*box, latent);
  const FractionalBox& part = std::get<FractionalBox>(area);
  return checked_area({part_of(part.y, latent[2]), part_of(part.x, latent[3]), std::max<int64_t>(1, part_of(part.height, latent[2])),
                       std::max<int64_t>(1, part_of(part.width, latent[3]))},
                      latent);
}

void resolve_mask(const ConditioningEntry& entry, const Shape& latent, PreparedCond& out) {
  out.mask = resize_mask(entry.mask, latent[2], latent[3]);
  if (std::ranges::any_of(out.mask.floats(), [](float v) { return !std::isfinite(v); })) {
    throw Error(ErrorCode::invalid, "conditioning: mask holds values that are not finite");
  }
  if (!entry.set_area_to_bounds) return;
  Box box = mask_bounds(out.mask);
  box.height = std::max(kLeastMaskedArea, box.height);
  box.width = std::max(kLeastMaskedArea, box.width);
  out.area = box;
}

double require_finite(double value, const char* what) {
  if (!std::isfinite(value)) throw Error(ErrorCode::invalid, "conditioning: number is not finite", {{"number", what}});
  return value;
}

PreparedCond prepare(const ConditioningEntry& entry, const Shape& latent, const ModelSampling& model_sampling) {
  PreparedCond out;
  out.context = require_f32(entry.context, 3, "conditioning");
  if (out.context.num_elements() == 0) {
    throw Error(ErrorCode::invalid, "conditioning: context is empty", {{"shape", out.context.shape().to_string()}});
  }
  if (entry.pooled.defined()) out.pooled = require_f32(entry.pooled, 2, "conditioning");
  if (entry.extra_channels.defined()) {
    out.extra_channels = resample(entry.extra_channels, latent[3], latent[2], ResampleMethod::bilinear, Crop::center);
  }
  out.strength = static_cast<float>(require_finite(entry.strength, "strength"));
  out.mask_strength = static_cast<float>(require_finite(entry.mask_strength, "mask strength"));
  const double start = std::max(require_finite(entry.start_percent, "start"), require_finite(entry.clip_start_percent, "clip start"));
  const double end = std::min(require_finite(entry.end_percent, "end"), require_finite(entry.clip_end_percent, "clip end"));
  out.sigma_start = model_sampling.percent_to_sigma(start);
  out.sigma_end = model_sampling.percent_to_sigma(end);
  out.hooks = entry.hooks;
  out.is_default = entry.is_default;
  out.control = entry.control;
  out.control_apply_to_uncond = entry.control_apply_to_uncond;
  if (entry.area) out.area = resolve_area(*entry.area, latent);
  if (entry.mask.defined()) resolve_mask(entry, latent, out);
  return out;
}

std::vector<PreparedCond> prepare_list(const Conditioning& list, const Shape& latent, const ModelSampling& model_sampling) {
  std::vector<PreparedCond> out;
  for (size_t i = 0; i < list.size(); ++i) {
    try {
      out.push_back(prepare(list[i], latent, model_sampling));
    } catch (const Error& error) {
      throw error.with("entry", std::to_string(i));
    }
  }
  return out;
}

bool inside(const Box& box, const Box& around) {
  return box.y >= around.y && box.x >= around.x && box.y + box.height <= around.y + around.height && box.x + box.width <= around.x + around.width;
}

// The entry of `list` with the smallest area around `area`; one without an area only if no area fits.
const PreparedCond* smallest_around(const std::vector<PreparedCond>& list, const Box& area) {
  const PreparedCond* smallest = nullptr;
  for (const PreparedCond& cond : list) {
    if (!cond.area) {
      if (smallest == nullptr) smallest = &cond;
    } else if (inside(area, *cond.area)) {
      if (smallest == nullptr || !smallest->area || smallest->area->height * smallest->area->width > cond.area->height * cond.area->width)
        smallest = &cond;
    }
  }
  return smallest;
}

void add_counterpart(std::vector<PreparedCond>& list, const PreparedCond& cond) {
  if (!cond.area) return;
  const PreparedCond* around = smallest_around(list, *cond.area);
  if (around == nullptr || (around->area && *around->area == *cond.area)) return;
  PreparedCond counterpart = cond;
  counterpart.context = around->context;
  counterpart.pooled = around->pooled;
  counterpart.extra_channels = around->extra_channels;
  list.push_back(std::move(counterpart));
}

// Gives the controls of positive entries without areas to negative ones, round and round, unless those have controls of their own.
void share_controls(const std::vector<PreparedCond>& positive, std::vector<PreparedCond>& negative) {
  std::vector<size_t> without;
  for (size_t i = 0; i < negative.size(); ++i) {
    if (negative[i].area) continue;
    if (negative[i].control) return;
    without.push_back(i);
  }
  if (without.empty()) return;
  size_t given = 0;
  for (const PreparedCond& cond : positive) {
    if (cond.area || !cond.control || !cond.control_apply_to_uncond) continue;
    const size_t turn = given++;
    PreparedCond& target = negative[without[turn % without.size()]];
    if (turn < without.size()) {
      target.control = cond.control;
    } else {  // every one has its own: evaluate it once more under this one
      PreparedCond again = target;
      again.control = cond.control;
      negative.push_back(std::move(again));
    }
  }
}

}  // namespace

PreparedConds prepare_conds(const Conditioning& positive, const Conditioning& negative, const Shape& latent, const ModelSampling& model_sampling) {
  if (latent.rank() != 4) throw Error(ErrorCode::invalid, "sample: latent has another number of dimensions", {{"shape", latent.to_string()}});
  PreparedConds out{prepare_list(positive, latent, model_sampling), prepare_list(negative, latent, model_sampling)};
  for (const PreparedCond& cond : out.positive) add_counterpart(out.negative, cond);
  for (const PreparedCond& cond : out.negative) add_counterpart(out.positive, cond);
  share_controls(out.positive, out.negative);
  return out;
}

}  // namespace veneer::sampling
