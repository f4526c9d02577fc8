#include "variant/lifecycle.h"

namespace veneer::variant {

std::string_view to_string(CallbackPoint point) {
  switch (point) {
    case CallbackPoint::on_clone: return "on_clone";
    case CallbackPoint::on_load: return "on_load";
    case CallbackPoint::on_detach: return "on_detach";
    case CallbackPoint::on_cleanup: return "on_cleanup";
    case CallbackPoint::on_pre_run: return "on_pre_run";
    case CallbackPoint::on_prepare_state: return "on_prepare_state";
    case CallbackPoint::on_apply_hooks: return "on_apply_hooks";
    case CallbackPoint::on_inject_model: return "on_inject_model";
    case CallbackPoint::on_eject_model: return "on_eject_model";
  }
  return "?";
}

sampling::Network wrap(sampling::Network network, const Wrappers& wrappers) {
  // From the innermost outwards.
  for (auto key = wrappers.rbegin(); key != wrappers.rend(); ++key) {
    for (auto wrapper = key->second.rbegin(); wrapper != key->second.rend(); ++wrapper) {
      network = [inner = std::move(network), around = wrapper->fn](const sampling::NetworkInput& input) { return around(inner, input); };
    }
  }
  return network;
}

}  // namespace veneer::variant
