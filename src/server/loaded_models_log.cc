#include "server/loaded_models_log.h"

namespace veneer::server {

void LoadedModelsLog::look(const std::vector<engine::LoadedModel>& now) {
  decltype(known_) seen;
  for (const engine::LoadedModel& model : now) {
    const auto key = std::pair(model.type, model.name);
    const auto before = known_.find(key);
    const Known known = before == known_.end() ? Known{model.version, ""} : before->second;
    seen[key] = {model.version, model.fault};
    graph::Json what = {{"type", model.type}, {"name", model.name}};
    if (model.fault != known.fault && !model.fault.empty()) {
      what["fault"] = model.fault;
      log_.write(LogLevel::warning, model.serves ? "the file of a loaded model does not serve" : "a loaded model serves no more", what);
    } else if (model.fault.empty() && (!known.fault.empty() || model.version != known.version)) {
      what["sha256"] = model.sha256;
      log_.info("the file under a loaded name serves", what);
    }
  }
  known_ = std::move(seen);
}

}  // namespace veneer::server
