// /system_stats, /features, /extensions, /i18n and others that the editor asks for when it starts.
#include <algorithm>

#include "engine/machine.h"
#include "server/comfy/routes.h"
#include "server/comfy/static_files.h"
#include "server/features.h"
#include "veneer/version.h"

namespace veneer::server {
namespace {

// The protocol that this server speaks, as clients compare it.
constexpr char kComfyVersion[] = "0.3.64";

Response system_stats(const Services& services) {
  const engine::MachineMemory memory = engine::machine_memory();
  const MemoryAccount account = services.core.memory();
  const std::string frontend = installed_frontend_version(services.options);
  const Json shown = frontend.empty() ? Json() : Json(frontend);
  const Json system = {{"os", "posix"},
                       {"ram_total", memory.total_bytes},
                       {"ram_free", memory.free_bytes},
                       {"comfyui_version", kComfyVersion},
                       {"required_frontend_version", shown},
                       {"installed_templates_version", nullptr},
                       {"required_templates_version", nullptr},
                       {"python_version", "none"},
                       {"pytorch_version", "none"},
                       {"embedded_python", false},
                       {"argv", services.options.arguments},
                       {"veneer_version", veneer::version()}};
  const Json device = {{"name", "cpu"},
                       {"type", "cpu"},
                       {"index", nullptr},
                       {"vram_total", memory.total_bytes},
                       {"vram_free", memory.free_bytes},
                       {"torch_vram_total", account.budget_bytes},
                       {"torch_vram_free", account.budget_bytes - std::min(account.budget_bytes, account.resident_bytes)}};
  return json_response(Json{{"system", system}, {"devices", Json::array({device})}});
}

}  // namespace

void add_system_routes(Router& router, Services& services) {
  router.get("/system_stats", [&](const Request&) { return system_stats(services); });
  router.get("/features", [&](const Request&) { return json_response(features(services.options)); });
  router.get("/extensions", [&](const Request&) { return json_response(Json(extension_scripts(services.options))); });
  for (const char* path : {"/i18n", "/workflow_templates", "/global_subgraphs", "/node_replacements"}) {
    router.get(path, [](const Request&) { return json_text_response("{}"); });
  }
  router.get("/ws", [](const Request&) {
    Response response = error_response(400, "websocket", "This address speaks WebSocket: the headers of an upgrade are missing");
    response.set("Sec-WebSocket-Version", "13");
    return response;
  });
}

}  // namespace veneer::server
