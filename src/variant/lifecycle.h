// What extensions attach to a variant: functions called at its turning points, functions around its work, objects that travel with it.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "sampling/network.h"
#include "variant/model_options.h"

namespace veneer::variant {

class ModelPatcher;

enum class CallbackPoint : uint8_t {
  on_clone,
  on_load,
  on_detach,
  on_cleanup,
  on_pre_run,
  on_prepare_state,
  on_apply_hooks,
  on_inject_model,
  on_eject_model
};
std::string_view to_string(CallbackPoint point);

// `patcher`: whose turning point it is. `other`: the fresh clone at on_clone, otherwise null.
using Callback = std::function<void(ModelPatcher& patcher, ModelPatcher* other)>;

// Functions by point, then by the key of who added them, in order of adding.
using Callbacks = std::map<CallbackPoint, std::map<std::string, std::vector<Callback>>>;

// Around an evaluation of the network: the first one added is the outermost. Part of the variant's fingerprint by id.
using NetworkWrapper = Identified<Tensor(const sampling::Network& next, const sampling::NetworkInput& input)>;
using Wrappers = std::map<std::string, std::vector<NetworkWrapper>>;

// `network` inside of all wrappers.
sampling::Network wrap(sampling::Network network, const Wrappers& wrappers);

// A change of the surroundings that holds while a variant is injected. `eject` undoes `inject`.
struct Injection {
  Callback inject, eject;
};
using Injections = std::map<std::string, std::vector<Injection>>;

// Objects of extensions, by name. Which names are there is part of clone_has_same_weights.
using Attachments = std::map<std::string, std::any>;

}  // namespace veneer::variant
