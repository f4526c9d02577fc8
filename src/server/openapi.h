// The server's own description of its routes (OpenAPI 3.0).
#pragma once

#include "server/http/router.h"

namespace veneer::server {

// Every route with its parameters and the kind of its body. Made from the router, so that none is forgotten.
Json openapi(const Router& router);

}  // namespace veneer::server
