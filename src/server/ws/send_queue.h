// SendQueue: what waits to be sent to one client, bounded in bytes.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "server/ws/outgoing.h"

namespace veneer::server {

struct SendLimits {
  size_t max_bytes = size_t{16} << 20;     // of everything; a client that lets this much gather is dropped
  size_t max_droppable = size_t{1} << 20;  // beyond this, previews and status messages are left out
};

// All members may be called from any thread.
class SendQueue {
 public:
  explicit SendQueue(SendLimits limits) : limits_(limits) {}

  enum class Push : uint8_t {
    start,     // nothing was being sent: the caller is to begin
    queued,    // will go out after what is being sent, or was left out
    overflow,  // the client does not keep up: drop it. Nothing is taken any more
  };
  Push push(Outgoing message);
  // The next message, and its size is let go; nothing when all are sent, after which the next push says `start`.
  std::optional<Outgoing> pop();
  // Forgets everything and takes nothing any more.
  void close();
  size_t bytes() const;

 private:
  const SendLimits limits_;
  mutable std::mutex mutex_;
  std::deque<Outgoing> messages_;
  size_t bytes_ = 0;
  bool sending_ = false;
  bool closed_ = false;
};

}  // namespace veneer::server
