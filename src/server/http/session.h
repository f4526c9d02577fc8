// Session: one connection: requests one after another, or a web socket.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http/message.h"
#include "server/ws/hub.h"
#include "server/ws/send_queue.h"

namespace veneer::server {

// What all connections share. Has to outlive them. Its functions may be called from any thread.
struct SessionShared {
  // Looks at method, path and headers, before the body is read. A response refuses the request. May fill `owner`.
  std::function<std::optional<Response>(Request&)> admit;
  // Runs on the handlers' threads and may take its time. Must not throw.
  std::function<Response(Request&)> handle;
  // Changes every response that goes out: headers that all have.
  std::function<void(const Request&, Response&)> finish;
  // First messages of a new web socket.
  std::function<std::vector<Outgoing>(const std::string& id, bool reconnect)> greeting;
  // Answers a client's first message; nothing for most.
  std::function<std::optional<Outgoing>()> features;

  Hub& hub;
  boost::asio::thread_pool& handlers;
  boost::asio::ssl::context* tls = nullptr;
  uint64_t max_body_bytes = uint64_t{100} << 20;
  uint64_t max_body_bytes_together = uint64_t{512} << 20;  // of large bodies that are being read at the same time
  SendLimits send_limits;
  std::atomic<uint64_t> body_bytes = 0;
  std::atomic<uint64_t> connections = 0;
};

// Serves the connection until it ends. Keeps itself alive.
void serve_connection(boost::asio::ip::tcp::socket socket, SessionShared& shared);

}  // namespace veneer::server
