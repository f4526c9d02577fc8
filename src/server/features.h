// What the server can do, as clients ask for it.
#pragma once

#include "server/http/message.h"
#include "server/options.h"

namespace veneer::server {

// The data of GET /features and of the message feature_flags.
Json features(const ServerOptions& options);

// Bytes that a request's body may have.
uint64_t max_upload_bytes(const ServerOptions& options);

}  // namespace veneer::server
