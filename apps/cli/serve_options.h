// The flags of `veneer serve`, each of which a configuration file and the environment can give as well.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "engine_flags.h"
#include "server/options.h"

namespace veneer::cli {

struct ServeOptions {
  EngineFlags engine;
  server::ServerOptions server;
  std::string data_folder, frontend_folder, templates_folder, tls_certificate, tls_key, api_key_file, cors_origin;
  std::string on_restart = "rerun";
  std::string preview_method;
  bool cache_none = false, cache_classic = false;
  size_t cache_lru = 0;
  CLI::Option* cache_lru_given = nullptr;
  CLI::Option* cors_given = nullptr;
  bool log_json = false;
  std::string log_level = "info";
  double drain_seconds = 30;

  // `this` must outlive the parse.
  void add_to(CLI::App& app);
  // What the flags say. Throws Error for a key file that cannot be read.
  server::ServerOptions finish() const;
};

// Where the program keeps jobs, settings and the editor unless told otherwise: $XDG_DATA_HOME/veneer or ~/.local/share/veneer.
std::string default_data_folder();

}  // namespace veneer::cli
