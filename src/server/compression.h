// Compressed answers, for clients that accept them.
#pragma once

#include "server/http/message.h"

namespace veneer::server {

// Compresses JSON and text with gzip, or deflate where the client takes only that.
void compress(const Request& request, Response& response);

}  // namespace veneer::server
