#include "server/ws/hub.h"

#include <optional>

namespace veneer::server {

void Hub::add(const std::string& id, const std::shared_ptr<Client>& client, const std::vector<Outgoing>& greeting) {
  const std::lock_guard lock(mutex_);
  for (const Outgoing& message : greeting) client->send(message);
  clients_[id] = client;
}

void Hub::remove(const std::string& id, const Client* client) {
  const std::lock_guard lock(mutex_);
  const auto at = clients_.find(id);
  if (at == clients_.end() || at->second.get() != client) return;
  clients_.erase(at);
  log_subscribers_.erase(id);
}

bool Hub::has(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return clients_.contains(id);
}

size_t Hub::size() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

std::vector<std::shared_ptr<Client>> Hub::receivers(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Client>> out;
  if (!id.empty()) {
    const auto at = clients_.find(id);
    if (at != clients_.end()) out.push_back(at->second);
    return out;
  }
  for (const auto& [name, client] : clients_) out.push_back(client);
  return out;
}

void Hub::send(const std::string& id, const Outgoing& message) const {
  if (id.empty()) return;
  for (const auto& client : receivers(id)) client->send(message);
}

void Hub::broadcast(const Outgoing& message) const {
  for (const auto& client : receivers("")) client->send(message);
}

void Hub::send_preview(const std::string& id, PreviewForm form, const std::function<Outgoing()>& make) const {
  std::optional<Outgoing> message;
  for (const auto& client : receivers(id)) {
    if (client->wants_metadata() != (form == PreviewForm::with_metadata)) continue;
    if (!message) message = make();
    client->send(*message);
  }
}

bool Hub::wants_preview(const std::string& id) const { return id.empty() ? size() > 0 : has(id); }

void Hub::set_running(const std::string& id, const std::string& node) {
  const std::lock_guard lock(mutex_);
  if (node.empty()) {
    running_.erase(id);
  } else {
    running_[id] = node;
  }
}

std::string Hub::running(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto at = running_.find(id);
  return at == running_.end() ? std::string() : at->second;
}

void Hub::subscribe_logs(const std::string& id, bool wanted) {
  const std::lock_guard lock(mutex_);
  if (!wanted) {
    log_subscribers_.erase(id);
  } else if (clients_.contains(id)) {
    log_subscribers_.insert(id);
  }
}

std::vector<std::string> Hub::log_subscribers() const {
  const std::lock_guard lock(mutex_);
  return {log_subscribers_.begin(), log_subscribers_.end()};
}

}  // namespace veneer::server
