// POST /prompt and its kin.
#pragma once

#include <functional>

#include "server/http/message.h"
#include "server/services.h"

namespace veneer::server {

// Queues the prompt of the body and answers as ComfyUI does. `more`, if given, is asked once the prompt is valid, before it is queued, with its API
// form, for further members of the answer; what it throws is the answer, and nothing is queued.
Response post_prompt(const Request& request, Services& services, const std::function<Json(const Json& prompt)>& more = {});

}  // namespace veneer::server
