#include "engine/workflow_versions.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/workflow_models.h"
#include "formats/sha256.h"
#include "nodes/model_store.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

std::string content_of(const Core& core, const NamedModel& model, const std::function<bool()>& stop) {
  const auto keep_on = [&](uint64_t, uint64_t) {
    if (stop && stop()) throw Error(ErrorCode::cancelled, "the request was given up");
  };
  const auto binding = core.models().binding(model.kind, model.name);
  if (binding && !binding->sha256.empty()) return binding->sha256;
  return core.environment().get<registry::Library>().hash(model.file, keep_on);
}

bool can_be_opened(const std::string& kind) {
  const std::vector<std::string>& kinds = nodes::ModelStore::kinds();
  return std::ranges::find(kinds, kind) != kinds.end();
}

}  // namespace

WorkflowVersions versions_of(const Core& core, graph::Json prompt, const std::function<bool()>& stop) {
  WorkflowVersions out;
  std::set<std::string> lines;
  for (const NamedModel& model : resolve_models(prompt, core)) {
    if (model.file.empty()) continue;  // validation has told
    try {
      ModelVersion version{model.node, model.input, model.kind, model.name, "", false};
      nodes::ModelStore& models = core.models();
      const std::string now = models.file_version(model.kind, model.name);  // a binding follows its file here
      if (can_be_opened(model.kind) && !models.binding(model.kind, model.name)) models.open(model.kind, model.name, false);
      version.sha256 = content_of(core, model, stop);
      version.changed = models.version_in_use(model.kind, model.name) != now;
      lines.insert(version.type + "/" + version.name + " " + version.sha256 + "\n");
      out.models.push_back(std::move(version));
    } catch (const Error& error) {
      throw error.with("node", model.node).with("input", model.input);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  out.fingerprint = formats::sha256_hex(std::as_bytes(std::span(text)));
  return out;
}

}  // namespace veneer::engine
