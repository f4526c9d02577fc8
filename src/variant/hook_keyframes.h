// Keyframes: how the strength of a hook changes in the course of a run.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/fingerprint.h"
#include "sampling/model_sampling.h"

namespace veneer::variant {

struct HookKeyframe {
  double strength = 1;       // factor of the hook's own strengths
  double start_percent = 0;  // of the run
  int guarantee_steps = 1;   // once reached, holds for at least this many noise levels, unless it starts before the run does
};

// In order of their start; keyframes with the same start in the order in which they were added. A value: copies share the list.
class HookKeyframes {
 public:
  HookKeyframes() = default;
  // Throws Error(invalid) for numbers that are not finite or a negative guarantee_steps.
  explicit HookKeyframes(std::vector<HookKeyframe> keyframes);
  // With more keyframes; errors as the constructor.
  HookKeyframes with(std::span<const HookKeyframe> more) const;

  std::span<const HookKeyframe> list() const { return list_ ? std::span<const HookKeyframe>(*list_) : std::span<const HookKeyframe>(); }
  bool empty() const { return list().empty(); }
  // Whether the strength can change while sampling.
  bool varies() const;

 private:
  std::shared_ptr<const std::vector<HookKeyframe>> list_;
};

void add_to_fingerprint(FingerprintBuilder& builder, const HookKeyframes& keyframes);

enum class KeyframeInterpolation : uint8_t { linear, ease_in, ease_out, ease_in_out };
// "linear", "ease_in", "ease_out", "ease_in_out". Throws Error(invalid) naming these.
KeyframeInterpolation keyframe_interpolation_from_string(std::string_view text);

// `count` >= 1 values from `first` to `last`: equally spaced, or along i^2, 1 - (1 - i)^2, (1 - cos(pi i)) / 2 for i = 0 to 1. Computed in f32.
std::vector<double> interpolated_values(double first, double last, int count, KeyframeInterpolation interpolation);

// One keyframe per strength, at equally spaced starts between the two percentages. The first is guaranteed one step, the others none, so that runs of
// few steps skip keyframes instead of falling behind.
std::vector<HookKeyframe> spread_keyframes(std::span<const double> strengths, double start_percent, double end_percent);

// Which keyframe holds, from one noise level of a run to the next. A run begins with the first keyframe, wherever that starts. At each new level the
// walk goes on to the keyframes that have started by then, but stays at one for as many levels as it is guaranteed.
class KeyframeWalk {
 public:
  // max_sigma: the highest noise level of the run.
  KeyframeWalk(HookKeyframes keyframes, const sampling::ModelSampling& model_sampling, float max_sigma);
  // The strength at the next level that is evaluated; another call with the same level changes nothing. 1 without keyframes.
  double strength_at(float sigma);

 private:
  int guaranteed(size_t index) const { return starts_[index] > max_sigma_ ? 0 : keyframes_.list()[index].guarantee_steps; }

  HookKeyframes keyframes_;
  std::vector<float> starts_;  // noise levels
  float max_sigma_;
  float last_sigma_ = std::numeric_limits<float>::quiet_NaN();
  size_t index_ = 0;
  int used_ = 0;  // levels at which the current keyframe held
};

}  // namespace veneer::variant
