#include "tiny_unet.h"

#include <memory>

#include "models/family/checkpoint.h"
#include "network_set.h"

namespace veneer::goldens {

sampling::Network make_tiny_unet(const Group& group) {
  const models::LoadedUnet unet = models::load_unet(models::tensors_of(group.model("unet")), "unet.safetensors");
  const std::shared_ptr<variant::ModelView> view = f32_variant(unet.base).open_view();
  return [unet, view](const sampling::NetworkInput& input) {
    models::UnetCallExtras extras;
    extras.cond_or_uncond = input.cond_or_uncond;
    extras.sigmas = input.sigmas;
    compute::Context context;
    return unet.network->forward(*view, context, input.x, input.timesteps, input.context, extras);
  };
}

}  // namespace veneer::goldens
