#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "command.h"
#include "engine/core.h"
#include "engine/truncation_guard.h"
#include "serve_options.h"
#include "server/server.h"
#include "server_log.h"
#include "veneer/version.h"

namespace veneer::cli {
namespace {

namespace fs = std::filesystem;

// Pictures that PreviewImage of an earlier run left behind. Files of other names are somebody's own.
void remove_old_previews(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; at != end && !failed; at.increment(failed)) {
    std::error_code ignored;
    if (at->path().filename().string().starts_with("ComfyUI_temp_") && at->is_regular_file(ignored)) fs::remove(at->path(), ignored);
  }
}

sigset_t end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Waits for SIGTERM or SIGINT, which every thread has blocked.
void wait_for_signal() {
  const sigset_t signals = end_signals();
  int which = 0;
  sigwait(&signals, &which);
}

graph::Json with(graph::Json object, const char* name, const graph::Json& value) {
  object[name] = value;
  return object;
}

int serve(const ServeOptions& options) {
  const sigset_t signals = end_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  engine::guard_against_truncated_files();
  server::ServerOptions settings = options.finish();
  settings.arguments = {"veneer", "serve", "--listen", settings.listen, "--port", std::to_string(settings.port)};
  const server::LogBook::Sink log = make_log_sink(options.log_json, options.log_level);
  engine::Core core(options.engine.options, engine::Core::Additions{.nodes = {}, .previews = settings.previews});
  for (const fs::path& folder : {core.folders().input, core.folders().output, core.folders().temp}) fs::create_directories(folder);
  remove_old_previews(core.folders().temp);
  log(server::LogLevel::info, "starting", graph::Json{{"version", version()}, {"commit", build_commit()}});
  for (const PluginInfo& plugin : core.plugins()) {
    const graph::Json what = {{"plugin", plugin.name}, {"file", plugin.file}};
    if (plugin.refused.empty()) {
      log(server::LogLevel::info, "plug-in loaded", with(what, "classes", plugin.classes.size()));
    } else {
      log(server::LogLevel::warning, "plug-in refused", with(what, "reason", plugin.refused));
    }
  }
  server::Server server(settings, core, log);
  wait_for_signal();
  // A second signal does not wait.
  std::thread([] {
    wait_for_signal();
    std::_Exit(1);
  }).detach();
  server.drain(std::chrono::milliseconds(static_cast<int64_t>(options.drain_seconds * 1000)));
  return 0;
}

}  // namespace

Command add_serve_command(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* sub = app.add_subcommand("serve", "serve ComfyUI's HTTP and WebSocket protocol, and the editor");
  options->add_to(*sub);
  sub->footer(
      "Every flag may also come from the environment (VENEER_PORT=8189) or from a file: veneer --config veneer.ini serve, with lines such as "
      "port=8189 "
      "under [serve].\nexample: veneer serve --models models/demo --port 8188");
  return {sub, [options] { return serve(*options); }};
}

}  // namespace veneer::cli
