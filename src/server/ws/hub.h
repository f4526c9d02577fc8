// Hub: which socket gets which message.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "server/ws/outgoing.h"

namespace veneer::server {

// A connected socket. `send` may be called from any thread and does not wait.
class Client {
 public:
  virtual ~Client() = default;
  virtual void send(const Outgoing& message) = 0;
  // Previews with metadata (frame type 4) instead of bare pictures (type 1).
  virtual bool wants_metadata() const = 0;
};

// All members may be called from any thread.
class Hub {
 public:
  // `greeting` is sent first. A socket of the same id that is there already stays open and gets nothing any more.
  void add(const std::string& id, const std::shared_ptr<Client>& client, const std::vector<Outgoing>& greeting);
  // Forgets the socket, unless another one has taken over the id.
  void remove(const std::string& id, const Client* client);

  bool has(const std::string& id) const;
  size_t size() const;
  // To the socket that has the id now; lost when there is none.
  void send(const std::string& id, const Outgoing& message) const;
  void broadcast(const Outgoing& message) const;
  enum class PreviewForm : unsigned char { plain, with_metadata };
  // To that socket, or to all when `id` is empty, as far as they want this form. `make` is called at most once, and only if somebody gets it.
  void send_preview(const std::string& id, PreviewForm form, const std::function<Outgoing()>& make) const;
  bool wants_preview(const std::string& id) const;

  // The node that runs for a client now, "" for none: told to a socket that connects meanwhile.
  void set_running(const std::string& id, const std::string& node);
  std::string running(const std::string& id) const;

  // Who gets the log.
  void subscribe_logs(const std::string& id, bool wanted);
  std::vector<std::string> log_subscribers() const;

 private:
  std::vector<std::shared_ptr<Client>> receivers(const std::string& id) const;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Client>> clients_;
  std::unordered_map<std::string, std::string> running_;
  std::unordered_set<std::string> log_subscribers_;
};

}  // namespace veneer::server
