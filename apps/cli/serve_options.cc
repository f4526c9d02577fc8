#include "serve_options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include "api_keys.h"
#include "value_checks.h"

namespace veneer::cli {
namespace {

// "--max-upload-mb" -> "VENEER_MAX_UPLOAD_MB".
std::string environment_name(const CLI::Option& option) {
  std::string name = "VENEER_" + option.get_single_name();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return name;
}

void add_address_flags(CLI::App& app, ServeOptions& o) {
  app.add_option("--listen", o.server.listen, "address to listen on; 0.0.0.0 for all of this machine's")->type_name("ADDRESS")->capture_default_str();
  app.add_option("--port", o.server.port, "port to listen on; 0: any free one")->capture_default_str();
  app.add_option("--tls-cert", o.tls_certificate, "PEM file of the certificate chain: speaks HTTPS")->type_name("FILE");
  app.add_option("--tls-key", o.tls_key, "PEM file of the certificate's key")->type_name("FILE");
  app.add_option("--api-key-file", o.api_key_file, "asks for an API key; lines of NAME:KEY")->type_name("FILE");
  app.add_option("--allow-host", o.server.allowed_hosts, "name of this machine that requests may use besides localhost")
      ->type_name("NAME")
      ->take_all();
  o.cors_given = app.add_option("--enable-cors-header", o.cors_origin, "lets pages of this origin use the server; *: of all")
                     ->type_name("ORIGIN")
                     ->expected(0, 1)
                     ->default_str("*");
}

void add_folder_flags(CLI::App& app, ServeOptions& o) {
  o.engine.options.model_folders = {"models/demo"};
  app.add_option("--models", o.engine.options.model_folders, "model folders with ComfyUI's sub-folders (checkpoints/, loras/, vae/, ...)")
      ->type_name("DIR")
      ->capture_default_str();
  o.data_folder = default_data_folder();
  app.add_option("--data", o.data_folder, "where jobs, settings and the editor are kept")->type_name("DIR")->capture_default_str();
  app.add_option("--front-end", o.frontend_folder, "folder of the editor's files; default: what `veneer frontend install` put into the data folder")
      ->type_name("DIR");
  app.add_option("--templates", o.templates_folder, "folder of workflow templates for the editor")->type_name("DIR");
}

void add_job_flags(CLI::App& app, ServeOptions& o) {
  app.add_option("--workers", o.server.workers, "jobs to run at the same time")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--max-queue", o.server.queue.max_waiting, "jobs that may wait")->capture_default_str();
  app.add_option("--max-queue-per-key", o.server.queue.max_waiting_per_owner, "jobs of one API key that may wait; 0: no limit of its own")
      ->capture_default_str();
  app.add_option("--max-history", o.server.queue.max_history, "finished jobs that are kept")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--on-restart", o.on_restart, "jobs that ran when the server ended: rerun or report (as failed)")
      ->check(CLI::IsMember({"rerun", "report"}))
      ->capture_default_str();
  app.add_flag("--wait-for-disk", o.server.queue.wait_for_disk,
               "a job is accepted once it would survive a power failure, not only the end of the program");
  app.add_option("--drain-seconds", o.drain_seconds, "how long SIGTERM waits for running jobs")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_flag("--strict-validation", o.server.strict_validation, "refuses what ComfyUI lets pass, and prompts of which any output is invalid");
  app.add_flag("--cache-classic", o.cache_classic, "keeps the results of the latest workflow (the default)");
  o.cache_lru_given = app.add_option("--cache-lru", o.cache_lru, "keeps this many results over workflows")->type_name("N");
  app.add_flag("--cache-none", o.cache_none, "keeps no results");
}

void add_client_flags(CLI::App& app, ServeOptions& o) {
  app.add_option("--max-upload-mb,--max-upload-size", o.server.max_upload_mb, "the largest body of a request")
      ->check(CLI::Range(0.001, 65536.0))
      ->capture_default_str();
  app.add_option("--max-connections", o.server.max_connections, "connections at the same time")->capture_default_str();
  app.add_option("--preview-method", o.preview_method,
                 "pictures while sampling: none, or auto or latent2rgb for every client; default: for those that announce supports_preview_metadata")
      ->check(CLI::IsMember({"none", "auto", "latent2rgb"}));
  app.add_option("--preview-size", o.server.preview_side, "pixels of the longer side of previews")
      ->check(CLI::Range(16, 4096))
      ->capture_default_str();
  app.add_flag("--multi-user", o.server.multi_user, "keeps settings and workflows per user");
  app.add_flag("--enable-compress-response-body", o.server.compress, "compresses JSON and text for clients that accept it");
  app.add_flag("--log-json", o.log_json, "log lines as JSON");
  app.add_option("--log-level", o.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
}

}  // namespace

std::string default_data_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data != '\0') return std::string(data) + "/veneer";
  const char* home = std::getenv("HOME");
  return (home == nullptr ? std::string(".") : std::string(home)) + "/.local/share/veneer";
}

void ServeOptions::add_to(CLI::App& app) {
  add_address_flags(app, *this);
  add_folder_flags(app, *this);
  add_job_flags(app, *this);
  add_client_flags(app, *this);
  engine.add_folder_flags(app);
  engine.add_plugin_flags(app);
  engine.add_compute_flags(app);
  engine.add_memory_flags(app);
  engine.add_patch_flags(app);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_single_name() != "help") option->envname(environment_name(*option));
  }
}

server::ServerOptions ServeOptions::finish() const {
  server::ServerOptions out = server;
  out.data_folder = data_folder;
  out.frontend_folder = frontend_folder;
  out.templates_folder = templates_folder;
  out.tls_certificate = tls_certificate;
  out.tls_key = tls_key;
  if (cors_given->count() > 0) out.cors_origin = cors_origin.empty() ? "*" : cors_origin;
  if (!api_key_file.empty()) out.api_keys = read_api_keys(api_key_file);
  out.queue.rerun_cut_short = on_restart == "rerun";
  out.previews = preview_method != "none";
  out.plain_previews = out.previews && !preview_method.empty();
  if (cache_none) out.cache = graph::CachePolicy::none();
  if (cache_lru_given->count() > 0) out.cache = graph::CachePolicy::lru(cache_lru);
  return out;
}

}  // namespace veneer::cli
