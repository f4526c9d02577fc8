#include "server/compression.h"

#include <zlib.h>

#include <memory>

#include "server/http/url.h"

namespace veneer::server {
namespace {

// Smaller ones gain nothing.
constexpr size_t kMinBytes = 256;

// Whether the coding is in the list, other than with a weight of 0.
bool accepts(std::string_view list, std::string_view coding) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
    const std::string_view name = trimmed(entry.substr(0, entry.find(';')));
    if (!equals_ignoring_case(name, coding)) continue;
    const size_t weight = entry.find("q=");
    return weight == std::string_view::npos || entry.substr(weight + 2).find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

std::string deflated(const std::string& text, bool gzip) {
  z_stream stream{};
  constexpr int kWindow = 15;
  constexpr int kMemory = 8;
  if (deflateInit2(&stream, 6, Z_DEFLATED, gzip ? kWindow + 16 : kWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, &deflateEnd);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return {};
  out.resize(stream.total_out);
  return out;
}

}  // namespace

void compress(const Request& request, Response& response) {
  const std::string* type = response.find("Content-Type");
  const bool suitable = type != nullptr && (type->starts_with("application/json") || type->starts_with("text/"));
  if (!suitable || response.file || response.body.size() < kMinBytes || response.body.size() > (size_t{1} << 30)) return;
  const std::string_view accepted = request.header("accept-encoding");
  const bool gzip = accepts(accepted, "gzip");
  if (!gzip && !accepts(accepted, "deflate")) return;
  std::string small = deflated(response.body, gzip);
  if (small.empty()) return;
  response.body = std::move(small);
  response.set("Content-Encoding", gzip ? "gzip" : "deflate");
  response.set("Vary", "Accept-Encoding");
}

}  // namespace veneer::server
