// veneer: the command line. Parses arguments, calls the engine, prints. Exit code 0 for success, 1 for an error, 2 for a wrong command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <new>
#include <string>

#include "command.h"
#include "veneer/error.h"
#include "veneer/version.h"

namespace {

int report(const veneer::Error& error, bool json) {
  if (json) {
    nlohmann::ordered_json context = nlohmann::ordered_json::object();
    for (const auto& [key, value] : error.context()) context[key] = value;
    const nlohmann::ordered_json out = {{"error", {{"code", veneer::to_string(error.code())}, {"message", error.text()}, {"context", std::move(context)}}}};
    std::printf("%s\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  } else {
    std::fprintf(stderr, "error: %s\n", error.text().c_str());
    for (const auto& [key, value] : error.context()) std::fprintf(stderr, "  %s: %s\n", key.c_str(), value.c_str());
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Veneer runs ComfyUI workflows on Stable Diffusion models.", "veneer");
  app.set_version_flag("--version", std::string("veneer ") + veneer::version() + " (" + veneer::build_commit() + ")");
  app.set_help_flag("-h,--help", "print this help and exit");
  app.require_subcommand(1);
  app.footer("example: veneer run workflows/txt2img.json --models models/demo");
  const veneer::cli::Command commands[] = {veneer::cli::add_run_command(app), veneer::cli::add_txt2img_command(app), veneer::cli::add_nodes_command(app)};

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const bool json = std::any_of(argv, argv + argc, [](const char* argument) { return std::string_view(argument) == "--json"; });
  try {
    for (const veneer::cli::Command& command : commands) {
      if (command.app->parsed()) return command.run();
    }
  } catch (const veneer::Error& error) {
    return report(error, json);
  } catch (const std::bad_alloc&) {
    return report(veneer::Error(veneer::ErrorCode::no_memory, "out of memory"), json);
  } catch (const std::exception& error) {
    return report(veneer::Error(veneer::ErrorCode::internal, error.what()), json);
  }
  return 2;
}
