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

// "" for a model whose file is gone and was never hashed.
std::string content_of(const Core& core, const std::string& kind, const std::string& name, const std::filesystem::path& file,
                       const std::function<bool()>& stop) {
  const auto keep_on = [&](uint64_t, uint64_t) {
    if (stop && stop()) throw Error(ErrorCode::cancelled, "the request was given up");
  };
  const auto binding = core.models().binding(kind, name);
  if (binding && (!binding->sha256.empty() || file.empty())) return binding->sha256;
  if (binding && !binding->model->file->is_current()) return {};  // what lies there is not what serves
  return core.environment().get<registry::Library>().hash(file, keep_on);
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
    nodes::ModelStore& models = core.models();
    // A bound name serves without a file. Of other names without one validation has told.
    const std::string name = model.file.empty() ? model.reference : model.name;
    if (model.file.empty() && !models.binding(model.kind, name)) continue;
    try {
      ModelVersion version{model.node, model.input, model.kind, name, "", false};
      const std::string now = models.file_version(model.kind, name);  // a binding follows its file here
      if (can_be_opened(model.kind) && !models.binding(model.kind, name)) models.open(model.kind, name, false);
      version.sha256 = content_of(core, model.kind, name, model.file, stop);
      version.changed = models.version_in_use(model.kind, name) != now;
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
