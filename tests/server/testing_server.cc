// A server on a free port, with the plug-in `testing`, for tests that drive it from outside. Prints the port and serves until its standard
// input ends or SIGTERM comes. Arguments: BASE_FOLDER and NAME=VALUE options.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>

#include "engine/core.h"
#include "engine/truncation_guard.h"
#include "plugins/probe.h"
#include "server/server.h"

namespace {

namespace fs = std::filesystem;
using veneer::server::ServerOptions;

using Settings = std::map<std::string, std::string>;

ServerOptions options_of(const fs::path& base, const Settings& settings) {
  ServerOptions options;
  const auto text = [&](const char* name, const char* otherwise) { return settings.contains(name) ? settings.at(name) : std::string(otherwise); };
  options.port = static_cast<uint16_t>(std::stoi(text("port", "0")));
  options.data_folder = base / "data";
  options.workers = std::stoi(text("workers", "1"));
  options.max_upload_mb = std::stod(text("max_upload_mb", "100"));
  options.queue.max_waiting = std::stoul(text("max_queue", "100000"));
  options.queue.max_waiting_per_owner = std::stoul(text("max_queue_per_key", "0"));
  options.queue.rerun_cut_short = text("on_restart", "rerun") == "rerun";
  options.plain_previews = !settings.contains("announced_previews");
  options.queue.wait_for_disk = settings.contains("wait_for_disk");
  options.client_buffer_bytes = std::stoul(text("client_buffer", "16777216"));
  options.strict_validation = settings.contains("strict");
  options.multi_user = settings.contains("multi_user");
  options.compress = settings.contains("compress");
  if (settings.contains("cors")) options.cors_origin = settings.at("cors");
  if (settings.contains("key")) options.api_keys.emplace_back("tester", settings.at("key"));
  if (settings.contains("cert")) options.tls_certificate = settings.at("cert");
  if (settings.contains("tls_key")) options.tls_key = settings.at("tls_key");
  if (text("cache", "") == "none") options.cache = veneer::graph::CachePolicy::none();
  if (text("cache", "").starts_with("lru")) options.cache = veneer::graph::CachePolicy::lru(std::stoul(text("cache", "").substr(3)));
  return options;
}

int serve(const fs::path& base, const Settings& settings) {
  veneer::engine::guard_against_truncated_files();
  veneer::EngineOptions engine;
  engine.model_folders = {settings.contains("models") ? settings.at("models") : (base / "models").string()};
  engine.input_folder = (base / "input").string();
  engine.output_folder = (base / "output").string();
  engine.temp_folder = (base / "temp").string();
  engine.dtype = "f32";
  engine.plugin_folders = {settings.contains("plugins") ? settings.at("plugins") : VENEER_TEST_PLUGINS};
  if (settings.contains("probe")) engine.plugin_probe = {"/proc/self/exe", "--probe-plugin"};
  for (const char* folder : {"models", "input", "output", "temp"}) fs::create_directories(base / folder);
  veneer::engine::Core core(engine, {.nodes = {}, .previews = !settings.contains("no_previews")});
  for (const veneer::PluginInfo& plugin : core.plugins()) {
    if (!plugin.refused.empty()) std::cerr << "plug-in " << plugin.name << " is refused: " << plugin.refused << "\n";
  }
  veneer::server::Server server(options_of(base, settings), core, nullptr);
  std::cout << "port " << server.port() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  server.drain(std::chrono::seconds(10));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc == 3 && std::string_view(argv[1]) == "--probe-plugin") veneer::plugins::run_probe(argv[2]);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  Settings settings;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    settings[argument.substr(0, equals)] = equals == std::string::npos ? "1" : argument.substr(equals + 1);
  }
  try {
    return serve(argv[1], settings);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
