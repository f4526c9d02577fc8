// The routes, one function per theme. Handlers are plain functions of the request and the services.
#pragma once

#include "server/http/router.h"
#include "server/services.h"

namespace veneer::server {

// The text members of a list of ids. Throws HttpError(400).
std::vector<std::string> read_ids(const Json& list, const std::string& member = "delete");

// The services have to outlive the router.
void add_prompt_routes(Router& router, Services& services);
void add_queue_routes(Router& router, Services& services);
void add_history_routes(Router& router, Services& services);
void add_job_routes(Router& router, Services& services);
void add_object_info_routes(Router& router, Services& services);
void add_view_routes(Router& router, Services& services);
void add_upload_routes(Router& router, Services& services);
void add_model_routes(Router& router, Services& services);
void add_system_routes(Router& router, Services& services);
void add_settings_routes(Router& router, Services& services);
void add_userdata_routes(Router& router, Services& services);
void add_internal_routes(Router& router, Services& services);
void add_hot_swap_routes(Router& router, Services& services);
void add_operation_routes(Router& router, Services& services);
// The editor's files, or the built-in page where none is installed: what no other route has.
void add_static_routes(Router& router, Services& services);

}  // namespace veneer::server
