#include "server/access.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>

#include "server/http/url.h"

namespace veneer::server {
namespace {

std::array<unsigned char, 32> digest_of(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

std::string decode_base64(std::string_view text) {
  std::string out(text.size() / 4 * 3 + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  out.resize(size < 0 ? 0 : static_cast<size_t>(size) - std::min(static_cast<size_t>(size), padding));
  return out;
}

// The key that the request shows: a bearer's, the password of basic authentication (browsers), X-API-Key, or ?api_key= of a web socket.
std::string shown_key(const Request& request) {
  const std::string_view authorization = request.header("authorization");
  if (equals_ignoring_case(authorization.substr(0, 7), "bearer ")) return std::string(trimmed(authorization.substr(7)));
  if (equals_ignoring_case(authorization.substr(0, 6), "basic ") && authorization.size() < 4096) {
    const std::string pair = decode_base64(trimmed(authorization.substr(6)));
    const size_t colon = pair.find(':');
    return colon == std::string::npos ? std::string() : pair.substr(colon + 1);
  }
  if (const std::string* key = request.find_header("x-api-key")) return *key;
  const std::string* key = request.path == "/ws" ? request.find_query("api_key") : nullptr;
  return key == nullptr ? std::string() : *key;
}

bool open_to_all(const Request& request) { return request.path == "/health" || request.path == "/ready"; }

}  // namespace

std::optional<HostPort> parse_host(std::string_view text) {
  HostPort out;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    out.host = lower_case(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
    if (!text.empty() && text.front() != ':') return std::nullopt;
    out.port = std::string(text.substr(std::min<size_t>(1, text.size())));
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    out.host = lower_case(text.substr(0, colon));
    out.port = std::string(text.substr(std::min(text.size(), colon + 1)));
  }
  const auto plain = [](char c) { return c > ' ' && c != '/' && c != '@' && c != '\\' && c != 127; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(out.host.begin(), out.host.end(), plain) || !std::all_of(out.port.begin(), out.port.end(), digit)) return std::nullopt;
  return out;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1" || host.ends_with(".localhost")) return true;
  if (!host.starts_with("127.")) return false;
  return std::count(host.begin(), host.end(), '.') == 3 && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

Access::Access(const ServerOptions& options)
    : allowed_hosts_(options.allowed_hosts), loopback_only_(is_loopback(options.listen)), cors_(options.cors_origin.has_value()) {
  for (const auto& [name, key] : options.api_keys) keys_.emplace_back(name, digest_of(key));
  for (std::string& host : allowed_hosts_) host = lower_case(host);
}

std::optional<Response> Access::check_origin(const Request& request) const {
  const std::string* host_header = request.find_header("host");
  std::optional<HostPort> host;
  if (host_header != nullptr && !host_header->empty()) {
    host = parse_host(*host_header);
    if (!host) return error_response(400, "invalid_host", "The Host header names no host");
    const bool known = is_loopback(host->host) || std::ranges::find(allowed_hosts_, host->host) != allowed_hosts_.end();
    if (loopback_only_ && !known) {
      return error_response(403, "host", "The server listens on this machine only and does not answer under this name", host->host);
    }
  }
  const std::string_view origin = request.header("origin");
  const size_t scheme = origin.find("://");
  if (cors_) return std::nullopt;
  // Sandboxed frames and local files have the origin "null": anybody's.
  const bool foreign = origin == "null" || equals_ignoring_case(request.header("sec-fetch-site"), "cross-site");
  const auto refused = [] { return error_response(403, "origin", "Pages of other origins may not use this server"); };
  if (origin.empty() || origin == "null" || scheme == std::string_view::npos || origin.size() == scheme + 3 || !host) {
    return foreign ? std::optional(refused()) : std::nullopt;
  }
  const std::optional<HostPort> from = parse_host(origin.substr(scheme + 3));
  const bool ports_differ = from && !from->port.empty() && !host->port.empty() && from->port != host->port;
  if (from && from->host == host->host && !ports_differ) return std::nullopt;
  return refused();
}

std::optional<std::string> Access::owner_of(const Request& request) const {
  const Digest shown = digest_of(shown_key(request));
  std::optional<std::string> owner;
  for (const auto& [name, digest] : keys_) {
    if (CRYPTO_memcmp(shown.data(), digest.data(), digest.size()) == 0) owner = name;
  }
  return owner;
}

std::optional<Response> Access::check(Request& request) const {
  if (std::optional<Response> refusal = check_origin(request)) return refusal;
  if (keys_.empty() || open_to_all(request) || (cors_ && request.method == "OPTIONS")) return std::nullopt;
  std::optional<std::string> owner = owner_of(request);
  if (!owner) {
    Response response = error_response(401, "unauthorized", "The server asks for an API key");
    response.set("WWW-Authenticate", "Basic realm=\"veneer\", charset=\"UTF-8\"");
    return response;
  }
  request.owner = std::move(*owner);
  return std::nullopt;
}

}  // namespace veneer::server
