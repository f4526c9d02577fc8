// veneer: the command line. Parses arguments, calls the engine, prints. Exit code 0 for success, 1 for an error, 2 for a wrong command line.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "error_report.h"
#include "open_files.h"
#include "plugins/probe.h"
#include "value_checks.h"
#include "veneer/error.h"
#include "veneer/version.h"
#include "wait_policy.h"

namespace {

using veneer::cli::kFailed;

constexpr int kWrongUsage = 2;

// A name in the file of flags that is none; CLI11 tells it at the end of its text, a section as NAME.++.
veneer::Error config_error(const CLI::App& app, const CLI::ConfigError& error) {
  const std::string text = error.what();
  std::string name = text.substr(text.find_last_of(' ') + 1);
  if (name.ends_with(".++")) name = "[" + name.substr(0, name.size() - 3) + "]";
  return {veneer::ErrorCode::invalid,
          "the file of flags has a name that is no flag or command",
          {{"file", app.get_config_ptr()->as<std::string>()},
           {"name", name},
           {"allowed", "a command in brackets, and under it the names of its flags, as its --help has them"}}};
}

// What is wrong with the command line, and where to read on.
veneer::Error usage_error(const CLI::App& app, const CLI::ParseError& error, std::span<char* const> arguments) {
  if (const auto* config = dynamic_cast<const CLI::ConfigError*>(&error)) return config_error(app, *config);
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    std::string commands;
    for (const CLI::App* command : app.get_subcommands(nullptr)) commands += (commands.empty() ? "" : ", ") + command->get_name();
    for (const std::string_view argument : arguments) {
      if (argument.starts_with('-')) continue;
      return {veneer::ErrorCode::invalid, "no such command", {{"command", std::string(argument)}, {"commands", commands}, {"help", "veneer --help"}}};
    }
    return {veneer::ErrorCode::invalid, "a command is missing", {{"commands", commands}, {"help", "veneer --help"}}};
  }
  // Of a command that has commands of its own.
  const auto inner = chosen.front()->get_subcommands(nullptr);
  if (!inner.empty() && chosen.front()->get_subcommands().empty()) {
    std::string commands;
    for (const CLI::App* command : inner) commands += (commands.empty() ? "" : ", ") + command->get_name();
    const auto after = std::ranges::find(arguments, chosen.front()->get_name(), [](const char* text) { return std::string_view(text); });
    const std::string given = after != arguments.end() && after + 1 != arguments.end() ? *(after + 1) : "";
    return {veneer::ErrorCode::invalid,
            given.empty() || given.starts_with('-') ? "a command is missing" : "no such command",
            {{"command", chosen.front()->get_name() + (given.starts_with('-') ? "" : " " + given)},
             {"commands", commands},
             {"help", "veneer " + chosen.front()->get_name() + " --help"}}};
  }
  return {veneer::ErrorCode::invalid, error.what(), {{"help", "veneer " + chosen.front()->get_name() + " --help"}}};
}

int run_chosen(std::span<const veneer::cli::Command> commands, bool json, char** argv) {
  try {
    for (const veneer::cli::Command& command : commands) {
      if (!command.app->parsed()) continue;
      veneer::cli::shorten_waits(argv);
      return command.run();
    }
  } catch (const std::exception& exception) {
    veneer::cli::report(veneer::cli::as_error(exception), json);
    return kFailed;
  }
  return kWrongUsage;
}

// A standard stream that the caller closed must not become the number of the next file that is opened: what is printed would end up there. The
// stand-ins are open the wrong way round, so that using them fails as the closed ones would.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) == -1) static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

// What was printed may still be in the buffer, and only now does a full disk show.
int with_output_written(int exit_code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  const std::string reason = errno == 0 ? "an earlier write failed" : std::strerror(errno);
  veneer::cli::report(veneer::Error(veneer::ErrorCode::invalid, "standard output cannot be written", {{"reason", reason}}), false);
  return exit_code == 0 ? kFailed : exit_code;
}

// The options --validate-workflow and --dump-graph, as other programs have them, are commands here. In CLI11's order: the last one first.
std::vector<std::string> with_commands(std::span<char* const> arguments) {
  std::vector<std::string> out(arguments.begin(), arguments.end());
  if (!out.empty() && out.front() == "--validate-workflow") out.front() = "validate";
  if (!out.empty() && out.front() == "--dump-graph") out.front() = "dump-graph";
  std::ranges::reverse(out);
  return out;
}

// What holds for the flags of all commands. A flag takes one value each time that it is given: what follows the value is not the flag's, also where
// the flag may be given again. Numbers are decimal.
void set_rules_of_flags(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) option->allow_extra_args(false);
    const std::string type = option->get_type_name();
    if (option->check_lname("seed")) continue;  // has a rule of its own
    if (type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT")) option->transform(veneer::cli::decimal_number());
  }
  for (CLI::App* command : app.get_subcommands(nullptr)) set_rules_of_flags(*command);
}

int run_program(int argc, char** argv) {
  CLI::App app("Veneer runs ComfyUI workflows on Stable Diffusion models.", "veneer");
  app.set_version_flag("--version", std::string("veneer ") + veneer::version() + " (" + veneer::build_commit() + ")", "print the version and exit");
  app.set_help_flag("-h,--help", "print this help and exit");
  app.require_subcommand(1);
  app.set_config("--config", "", "file of flags: name=value lines under [command]");
  app.allow_config_extras(CLI::config_extras_mode::error);  // a misspelt name would otherwise change nothing, silently
  app.footer("example: veneer run workflows/txt2img.json --models models/demo");
  const veneer::cli::Command commands[] = {veneer::cli::add_run_command(app),
                                           veneer::cli::add_txt2img_command(app),
                                           veneer::cli::add_nodes_command(app),
                                           veneer::cli::add_variants_command(app),
                                           veneer::cli::add_memory_command(app),
                                           veneer::cli::add_verify_command(app),
                                           veneer::cli::add_compare_command(app),
                                           veneer::cli::add_convert_command(app),
                                           veneer::cli::add_serve_command(app),
                                           veneer::cli::add_frontend_command(app),
                                           veneer::cli::add_convert_workflow_command(app),
                                           veneer::cli::add_validate_command(app),
                                           veneer::cli::add_dump_graph_command(app),
                                           veneer::cli::add_lock_command(app),
                                           veneer::cli::add_models_command(app)};
  set_rules_of_flags(app);

  const std::span<char* const> arguments(argv + 1, static_cast<size_t>(std::max(argc - 1, 0)));
  const bool json = std::any_of(arguments.begin(), arguments.end(), [](const char* argument) { return std::string_view(argument) == "--json"; });
  try {
    app.parse(with_commands(arguments));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    veneer::cli::report(usage_error(app, error, arguments), json);
    return kWrongUsage;
  }
  return run_chosen(commands, json, argv);
}

}  // namespace

int main(int argc, char** argv) {
  // The program as its own trial of a plug-in: see plugins/probe.h. No command, and not for people.
  if (argc == 3 && std::string_view(argv[1]) == "--probe-plugin") veneer::plugins::run_probe(argv[2]);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a fault of that file, and what was begun is cleaned up
  hold_standard_streams();
  veneer::cli::allow_many_open_files();
  return with_output_written(run_program(argc, argv));
}
