// Who may ask: hosts, origins and API keys.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/message.h"
#include "server/options.h"

namespace veneer::server {

// "localhost:8188" -> {"localhost", "8188"}; "[::1]:80" -> {"::1", "80"}. Lower case. nullopt for text that is no host.
struct HostPort {
  std::string host, port;
};
std::optional<HostPort> parse_host(std::string_view text);
bool is_loopback(std::string_view host);

// Immutable; any thread.
class Access {
 public:
  explicit Access(const ServerOptions& options);
  // A refusal, or nothing; then the request's owner is the name of its key. Pages of other origins are refused, so are names that lead to this
  // machine by trick where it listens on loopback only, and, where there are keys, requests without one.
  std::optional<Response> check(Request& request) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  std::optional<Response> check_origin(const Request& request) const;
  std::optional<std::string> owner_of(const Request& request) const;
  std::vector<std::pair<std::string, Digest>> keys_;  // name, hash: equal lengths, compared in constant time
  std::vector<std::string> allowed_hosts_;
  bool loopback_only_;
  bool cors_;
};

}  // namespace veneer::server
