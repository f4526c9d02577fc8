#include "nodes/run_network.h"

#include <utility>

#include "models/unet/text_cache.h"
#include "nodes/match_adapter.h"
#include "nodes/options/options_overlay.h"
#include "nodes/require_finite.h"
#include "variant/hooked_views.h"
#include "variant/variant_view.h"

namespace veneer::nodes {

namespace {

std::shared_ptr<variant::HookedViews> views_of(const ModelValue& model) {
  variant::HookModel hooked{variant::HookTarget::diffusion_model, model.patcher.model(), unet_layout(model.network->config()),
                            model.patcher.runtime().compat};
  return std::make_shared<variant::HookedViews>(model.patcher, std::move(hooked),
                                                model.patcher.get_model_object<sampling::ModelSampling>(kModelSampling));
}

}  // namespace

sampling::Network make_network(const ModelValue& model, const ComputeSettings& settings, const CancelToken& cancel,
                               std::function<void(const std::string&)> on_remark) {
  sampling::Network network = [views = views_of(model), texts = std::make_shared<models::TextCache>(), on_remark = std::move(on_remark), &model,
                               cancel, context = settings.context()](const sampling::NetworkInput& input) mutable {
    variant::ModelView* view = &views->at(input.hooks, input.sigmas.front(), input.run_sigmas);
    for (const std::string& remark : views->take_remarks()) {
      if (on_remark) on_remark(remark);
    }
    models::UnetCallExtras extras;
    extras.cond_or_uncond = input.cond_or_uncond;
    extras.sigmas = input.sigmas;
    extras.run = input.run;
    variant::TransformerOptions options;
    if (const auto* overlay = dynamic_cast<const OptionsOverlay*>(input.overlay)) {
      options = merged(view->transformer_options(), overlay->added());
      extras.options = &options;
    }
    // Views that do not tell what they compute get no cache.
    if (const auto* of_variant = dynamic_cast<const variant::VariantView*>(view)) {
      extras.text_cache = texts.get();
      extras.weights = of_variant->variant().fingerprint();
    }
    extras.checkpoint = [&cancel] { cancel.check(); };
    Tensor out;
    try {
      out = model.network->forward(*view, context, input.x, input.timesteps, input.context, extras);
    } catch (const Error& error) {
      throw with_reshaped_weight(error, *view);
    }
    // Said at once, by the one who knows the weights: no later step makes numbers of it again.
    if (!all_finite(out) && all_finite(input.x) && all_finite(input.context)) throw not_finite("the network's output", *view);
    return out;
  };
  return variant::wrap(std::move(network), model.patcher.wrappers());
}

}  // namespace veneer::nodes
