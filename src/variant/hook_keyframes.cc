#include "variant/hook_keyframes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "sampling/sigma_curves.h"
#include "veneer/error.h"

namespace veneer::variant {

HookKeyframes::HookKeyframes(std::vector<HookKeyframe> keyframes) {
  for (size_t i = 0; i < keyframes.size(); ++i) {
    const HookKeyframe& keyframe = keyframes[i];
    if (!std::isfinite(keyframe.strength) || !std::isfinite(keyframe.start_percent) || keyframe.guarantee_steps < 0) {
      throw Error(ErrorCode::invalid, "hook: keyframe is not usable",
                  {{"keyframe", std::to_string(i)},
                   {"strength", std::to_string(keyframe.strength)},
                   {"start_percent", std::to_string(keyframe.start_percent)},
                   {"guarantee_steps", std::to_string(keyframe.guarantee_steps)}});
    }
  }
  if (keyframes.empty()) return;
  std::ranges::stable_sort(keyframes, {}, &HookKeyframe::start_percent);
  list_ = std::make_shared<const std::vector<HookKeyframe>>(std::move(keyframes));
}

HookKeyframes HookKeyframes::with(std::span<const HookKeyframe> more) const {
  std::vector<HookKeyframe> all(list().begin(), list().end());
  all.insert(all.end(), more.begin(), more.end());
  return HookKeyframes(std::move(all));
}

bool HookKeyframes::varies() const {
  return std::ranges::any_of(list(), [&](const HookKeyframe& keyframe) { return keyframe.strength != list().front().strength; });
}

void add_to_fingerprint(FingerprintBuilder& builder, const HookKeyframes& keyframes) {
  builder.add("keyframes").add(keyframes.list().size());
  for (const HookKeyframe& keyframe : keyframes.list()) builder.add(keyframe.strength).add(keyframe.start_percent).add(keyframe.guarantee_steps);
}

KeyframeInterpolation keyframe_interpolation_from_string(std::string_view text) {
  if (text == "linear") return KeyframeInterpolation::linear;
  if (text == "ease_in") return KeyframeInterpolation::ease_in;
  if (text == "ease_out") return KeyframeInterpolation::ease_out;
  if (text == "ease_in_out") return KeyframeInterpolation::ease_in_out;
  throw Error(ErrorCode::invalid, "hook: interpolation is unknown",
              {{"value", std::string(text)}, {"allowed", "linear, ease_in, ease_out, ease_in_out"}});
}

std::vector<double> interpolated_values(double first, double last, int count, KeyframeInterpolation interpolation) {
  constexpr int kMost = 1'000'000;
  if (count < 1 || count > kMost || !std::isfinite(first) || !std::isfinite(last)) {
    throw Error(ErrorCode::invalid, "hook: nothing to interpolate",
                {{"first", std::to_string(first)}, {"last", std::to_string(last)}, {"count", std::to_string(count)}});
  }
  const float from = static_cast<float>(first);
  const float difference = static_cast<float>(last - first);
  std::vector<float> values;
  if (interpolation == KeyframeInterpolation::linear) {
    values = sampling::linspace(from, static_cast<float>(last), count);
  } else {
    values = sampling::linspace(0, 1, count);
  }
  for (float& value : values) {
    switch (interpolation) {
      case KeyframeInterpolation::linear: break;
      case KeyframeInterpolation::ease_in: value = difference * (value * value) + from; break;
      case KeyframeInterpolation::ease_out: value = difference * (1 - (1 - value) * (1 - value)) + from; break;
      case KeyframeInterpolation::ease_in_out: value = difference * ((1 - std::cos(value * std::numbers::pi_v<float>)) / 2) + from; break;
    }
  }
  return {values.begin(), values.end()};
}

std::vector<HookKeyframe> spread_keyframes(std::span<const double> strengths, double start_percent, double end_percent) {
  if (strengths.empty()) return {};
  const std::vector<double> starts =
      interpolated_values(start_percent, end_percent, static_cast<int>(strengths.size()), KeyframeInterpolation::linear);
  std::vector<HookKeyframe> keyframes;
  for (size_t i = 0; i < strengths.size(); ++i) keyframes.push_back({strengths[i], starts[i], i == 0 ? 1 : 0});
  return keyframes;
}

KeyframeWalk::KeyframeWalk(HookKeyframes keyframes, const sampling::ModelSampling& model_sampling, float max_sigma)
    : keyframes_(std::move(keyframes)), max_sigma_(max_sigma) {
  for (const HookKeyframe& keyframe : keyframes_.list()) {
    starts_.push_back(static_cast<float>(model_sampling.percent_to_sigma(keyframe.start_percent)));
  }
}

double KeyframeWalk::strength_at(float sigma) {
  if (keyframes_.empty()) return 1;
  if (sigma != last_sigma_) {
    if (used_ >= guaranteed(index_)) {
      for (size_t next = index_ + 1; next < starts_.size() && starts_[next] >= sigma; ++next) {
        index_ = next;
        used_ = 0;
        if (guaranteed(next) > 0) break;
      }
    }
    ++used_;
    last_sigma_ = sigma;
  }
  return keyframes_.list()[index_].strength;
}

}  // namespace veneer::variant
