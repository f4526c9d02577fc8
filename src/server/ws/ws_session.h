// A web socket: what the hub sends goes out, what comes in is read for the feature flags.
#pragma once

#include <boost/beast/http.hpp>
#include <memory>
#include <string>

#include "server/http/session.h"
#include "server/http/stream.h"

namespace veneer::server {

// Answers the handshake and serves the socket until it ends. `id`: the client's own, or "" for a new one.
void serve_web_socket(std::unique_ptr<Stream> stream, beast::http::request<beast::http::string_body> handshake, std::string id,
                      SessionShared& shared);

}  // namespace veneer::server
