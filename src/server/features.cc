#include "server/features.h"

namespace veneer::server {

Json features(const ServerOptions& options) {
  const double bytes = options.max_upload_mb * 1024 * 1024;
  const auto whole = static_cast<int64_t>(bytes);
  return {{"supports_preview_metadata", true}, {"max_upload_size", static_cast<double>(whole) == bytes ? Json(whole) : Json(bytes)}};
}

uint64_t max_upload_bytes(const ServerOptions& options) { return static_cast<uint64_t>(options.max_upload_mb * 1024 * 1024); }

}  // namespace veneer::server
