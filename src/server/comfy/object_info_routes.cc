// GET /object_info: what nodes there are.
#include "graph/object_info.h"
#include "server/comfy/routes.h"

namespace veneer::server {

void add_object_info_routes(Router& router, Services& services) {
  router.get("/object_info",
             [&](const Request&) { return json_response(graph::object_info(services.core.registry(), services.core.environment())); });
  router.get("/object_info/{class}", [&](const Request& request) {
    const graph::NodeDef* def = services.core.registry().find(request.parts.at(0));
    Json json = Json::object();
    if (def != nullptr) json[def->class_type] = graph::object_info(*def, services.core.environment());
    return json_response(json);
  });
}

}  // namespace veneer::server
