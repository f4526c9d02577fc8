#include "nodes/run_network.h"

namespace veneer::nodes {

sampling::Network make_network(const ModelValue& model, const ComputeSettings& settings, const CancelToken& cancel) {
  const std::shared_ptr<variant::ModelView> view = model.patcher.patch_model();
  return [view, &model, cancel, context = settings.context()](const sampling::NetworkInput& input) mutable {
    models::UnetCallExtras extras;
    extras.cond_or_uncond = input.cond_or_uncond;
    extras.sigmas = input.sigmas;
    extras.checkpoint = [&cancel] { cancel.check(); };
    return model.network->forward(*view, context, input.x, input.timesteps, input.context, extras);
  };
}

}  // namespace veneer::nodes
