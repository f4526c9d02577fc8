#include "variant/clip_schedule.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace veneer::variant {
namespace {

struct Part {
  double start = 0, end = 1, strength = 1;
};

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

// The parts in which one hook's strength is constant. Nothing holds before the first keyframe.
std::vector<Part> parts_of(const HookKeyframes& keyframes) {
  if (keyframes.empty()) return {{}};
  std::vector<Part> parts;
  HookKeyframe current = keyframes.list().front();
  for (const HookKeyframe& next : keyframes.list()) {
    if (next.start_percent == current.start_percent) {
      current = next;  // of several with one start the last counts
    } else if (!close(next.strength, current.strength)) {
      parts.push_back({current.start_percent, next.start_percent, current.strength});
      current = next;
    }
  }
  if (!close(current.start_percent, 1)) parts.push_back({current.start_percent, 1, current.strength});
  return parts;
}

}  // namespace

std::vector<ClipInterval> clip_schedule(const HookGroup& group) {
  std::vector<std::vector<Part>> hooks;
  std::set<double> cuts = {0, 1};
  for (const WeightHook& hook : group.hooks()) {
    hooks.push_back(parts_of(hook.keyframes));
    for (const Part& part : hooks.back()) {
      for (const double cut : {part.start, part.end}) cuts.insert(std::clamp(cut, 0.0, 1.0));
    }
  }
  std::vector<ClipInterval> out;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    ClipInterval interval{*cut, *std::next(cut), {}};
    for (const std::vector<Part>& parts : hooks) {
      const auto part = std::ranges::find_if(parts, [&](const Part& p) { return p.start < interval.end_percent && p.end > interval.start_percent; });
      interval.strengths.push_back(part == parts.end() ? 1 : part->strength);
    }
    out.push_back(std::move(interval));
  }
  return out;
}

}  // namespace veneer::variant
