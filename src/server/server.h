// Server: the engine over HTTP and WebSocket.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "engine/core.h"
#include "server/log_book.h"
#include "server/options.h"

namespace veneer::server {

// Start, serve from threads of its own, stop in the destructor.
class Server {
 public:
  // Takes up the jobs of an earlier run, opens the port and serves at once. The core has to outlive the server. Throws Error naming the option, file
  // or port that is at fault.
  Server(const ServerOptions& options, const engine::Core& core, LogBook::Sink log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;

  // Takes no new jobs and starts none, waits for those that run, at most `limit`; then asks them to stop: they will run again with the next start,
  // like those that wait. Requests are answered until the end.
  void drain(std::chrono::milliseconds limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace veneer::server
