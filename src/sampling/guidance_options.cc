#include "sampling/guidance_options.h"

namespace veneer::sampling {

bool GuidanceOptions::empty() const {
  return !cfg_function && !calc_cond_batch && pre_cfg.empty() && post_cfg.empty() && !unet_wrapper && !denoise_mask_function &&
         !disable_cfg1_optimization;
}

Fingerprint GuidanceOptions::fingerprint() const {
  FingerprintBuilder builder;
  const auto add_one = [&](const auto& hook) { builder.add(hook.has_value()).add(hook ? hook->id : Fingerprint{}); };
  const auto add_list = [&](const auto& hooks) {
    builder.add(hooks.size());
    for (const auto& hook : hooks) builder.add(hook.id);
  };
  builder.add("guidance");
  add_one(cfg_function);
  add_one(calc_cond_batch);
  add_list(pre_cfg);
  add_list(post_cfg);
  add_one(unet_wrapper);
  add_one(denoise_mask_function);
  return builder.add(disable_cfg1_optimization).finish();
}

}  // namespace veneer::sampling
