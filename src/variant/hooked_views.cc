#include "variant/hooked_views.h"

#include <algorithm>

namespace veneer::variant {
namespace {

// Of everything by which the hooks change the model.
Fingerprint key_of(std::span<const ActiveHook> hooks) {
  FingerprintBuilder builder;
  for (const ActiveHook& active : hooks) builder.add(active.hook->weights->fingerprint()).add(active.strength).add(active.for_now);
  return builder.finish();
}

}  // namespace

HookedViews::HookedViews(ModelPatcher patcher, HookModel model, std::shared_ptr<const sampling::ModelSampling> model_sampling)
    : patcher_(std::move(patcher)), source_(std::move(model)), model_sampling_(std::move(model_sampling)) {}

ModelView& HookedViews::at(const sampling::CondHooks* hooks, float sigma, std::span<const float> run_sigmas) {
  if (hooks == nullptr) return plain();
  const HookGroup& group = as_hook_group(*hooks);
  const std::vector<ActiveHook> active = active_hooks(group, source_.model(), factors(group, sigma, run_sigmas), true);
  if (active.empty()) return plain();
  const Fingerprint key = key_of(active);
  const auto known = std::ranges::find(hooked_, key, &Entry::key);
  if (known != hooked_.end()) {
    hooked_.splice(hooked_.begin(), hooked_, known);
    return *hooked_.front().view;
  }
  // What is not needed any more goes before its successor takes memory.
  while (hooked_.size() >= kMostViews) hooked_.pop_back();
  auto view = hooked_variant(patcher_, source_, active).open_view();
  ++opened_;
  hooked_.push_front({key, std::move(view)});
  return *hooked_.front().view;
}

std::vector<double> HookedViews::factors(const HookGroup& group, float sigma, std::span<const float> run_sigmas) {
  auto [walks, is_new] = walks_.try_emplace(group.fingerprint());
  if (is_new) {
    const float max_sigma = run_sigmas.empty() ? sigma : std::ranges::max(run_sigmas);
    for (const WeightHook& hook : group.hooks()) walks->second.emplace_back(hook.keyframes, *model_sampling_, max_sigma);
  }
  std::vector<double> out;
  for (KeyframeWalk& walk : walks->second) out.push_back(walk.strength_at(sigma));
  return out;
}

ModelView& HookedViews::plain() {
  if (!plain_) {
    plain_ = patcher_.open_view();
    ++opened_;
  }
  return *plain_;
}

}  // namespace veneer::variant
