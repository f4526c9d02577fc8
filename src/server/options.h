// What the server is told to do. Plain values: programs read flags, files and the environment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/result_cache.h"
#include "jobs/job_queue.h"

namespace veneer::server {

struct ServerOptions {
  std::string listen = "127.0.0.1";  // an address
  uint16_t port = 8188;              // 0: the system chooses
  int workers = 1;                   // jobs at once
  graph::CachePolicy cache;

  std::filesystem::path data_folder = "veneer-data";  // jobs, settings, users, the frontend
  std::filesystem::path frontend_folder;              // empty: `frontend` in the data folder, where it is installed
  std::filesystem::path templates_folder;             // of the editor's template dialog; may be empty
  jobs::QueueOptions queue;                           // its database is placed in the data folder when it has none

  double max_upload_mb = 100;
  uint64_t max_connections = 1000;
  size_t client_buffer_bytes = size_t{16} << 20;  // of one web socket that does not keep up
  int preview_side = 512;
  bool previews = true;
  // Whether previews of samplers go to clients too that do not announce supports_preview_metadata. Some take every binary message for a result.
  bool plain_previews = true;
  bool strict_validation = false;
  bool reject_dropped_outputs = false;  // a prompt of which one output cannot run is refused as a whole
  bool multi_user = false;
  bool compress = false;  // JSON and text, for clients that accept it

  std::vector<std::pair<std::string, std::string>> api_keys;  // name, key; none: no keys are asked for
  std::vector<std::string> allowed_hosts;                     // besides loopback names, where the server listens on loopback only
  std::optional<std::string> cors_origin;                     // sends CORS headers and makes no check of the origin
  std::filesystem::path tls_certificate, tls_key;             // PEM files; both or none

  std::vector<std::string> arguments;  // shown by /system_stats
};

}  // namespace veneer::server
