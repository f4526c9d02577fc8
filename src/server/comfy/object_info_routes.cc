// GET /object_info: what nodes there are.
#include <array>
#include <string_view>

#include "graph/object_info.h"
#include "server/comfy/routes.h"
#include "server/comfy/static_files.h"
#include "server/http/url.h"

namespace veneer::server {
namespace {

// Loaders that editors before 1.38 take for granted: where one is missing, they can make no node that chooses a model.
struct TakenForGranted {
  std::string_view class_type, output, input, kind;
};
constexpr std::array kTakenForGranted = {TakenForGranted{"ImageOnlyCheckpointLoader", "MODEL", "ckpt_name", "checkpoints"},
                                         TakenForGranted{"ControlNetLoader", "CONTROL_NET", "control_net_name", "controlnet"},
                                         TakenForGranted{"UpscaleModelLoader", "UPSCALE_MODEL", "model_name", "upscale_models"},
                                         TakenForGranted{"StyleModelLoader", "STYLE_MODEL", "style_model_name", "style_models"},
                                         TakenForGranted{"GLIGENLoader", "GLIGEN", "gligen_name", "gligen"}};

bool is_old_editor(const std::string& version) {
  constexpr int64_t kFirstThatLooks = 38;
  if (!version.starts_with("1.")) return false;
  const std::optional<int64_t> minor = parse_integer(std::string_view(version).substr(2, version.find('.', 2) - 2));
  return minor && *minor < kFirstThatLooks;
}

// Shown as deprecated; a prompt that has one is refused like any other unknown class.
void add_taken_for_granted(Json& all, const Services& services) {
  for (const TakenForGranted& known : kTakenForGranted) {
    const std::string name(known.class_type);
    if (all.contains(name)) continue;
    graph::NodeDef def;
    def.class_type = name;
    def.category = "not available here";
    def.description = "This server has no such node.";
    def.deprecated = true;
    const std::string kind(known.kind);
    def.inputs.push_back(
        graph::InputDef::choice(std::string(known.input), services.models.has(kind) ? services.models.list(kind) : std::vector<std::string>()));
    graph::OutputDef output;
    output.name = output.type = known.output;
    def.outputs.push_back(std::move(output));
    all[name] = graph::object_info(def, services.core.environment());
  }
}

Response all_classes(const Services& services) {
  Json all = graph::object_info(services.core.registry(), services.core.environment());
  if (is_old_editor(installed_frontend_version(services.options))) add_taken_for_granted(all, services);
  return json_response(all);
}

}  // namespace

void add_object_info_routes(Router& router, Services& services) {
  router.get("/object_info", [&](const Request&) { return all_classes(services); });
  router.get("/object_info/{class}", [&](const Request& request) {
    const graph::NodeDef* def = services.core.registry().find(request.parts.at(0));
    Json json = Json::object();
    if (def != nullptr) json[def->class_type] = graph::object_info(*def, services.core.environment());
    return json_response(json);
  });
}

}  // namespace veneer::server
