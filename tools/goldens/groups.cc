#include "golden_set.h"

namespace veneer::goldens {

// Add a group: one file GROUP_group.cc, one declaration and one line here.

Runner make_conditioning_runner(const Group& group);
Runner make_latents_runner(const Group& group);
Runner make_lora_keys_runner(const Group& group);
Runner make_patches_runner(const Group& group);
Runner make_model_sampling_runner(const Group& group);
Runner make_patcher_runner(const Group& group);
Runner make_rng_runner(const Group& group);
Runner make_samplers_runner(const Group& group);
Runner make_schedulers_runner(const Group& group);
Runner make_tokenizer_runner(const Group& group);
Runner make_clip_runner(const Group& group);
Runner make_unet_runner(const Group& group);
Runner make_vae_runner(const Group& group);

std::vector<GroupDef> all_groups() {
  return {
      {"clip", make_clip_runner},         {"tokenizer", make_tokenizer_runner},           {"conditioning", make_conditioning_runner},
      {"latents", make_latents_runner},   {"lora_keys", make_lora_keys_runner},           {"patches", make_patches_runner},
      {"patcher", make_patcher_runner},   {"model_sampling", make_model_sampling_runner}, {"rng", make_rng_runner},
      {"samplers", make_samplers_runner}, {"schedulers", make_schedulers_runner},         {"unet", make_unet_runner},
      {"vae", make_vae_runner},
  };
}

}  // namespace veneer::goldens
