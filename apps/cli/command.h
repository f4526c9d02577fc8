// One sub-command of the program: its options, and what it does once they are parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace veneer::cli {

// Adds a sub-command to `app`. The returned function runs it and gives the exit code; it is called only if the sub-command was chosen and may throw
// Error.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

Command add_run_command(CLI::App& app);
Command add_txt2img_command(CLI::App& app);
Command add_nodes_command(CLI::App& app);
Command add_variants_command(CLI::App& app);
Command add_memory_command(CLI::App& app);
Command add_verify_command(CLI::App& app);
Command add_compare_command(CLI::App& app);
Command add_convert_command(CLI::App& app);
Command add_serve_command(CLI::App& app);
Command add_frontend_command(CLI::App& app);
Command add_convert_workflow_command(CLI::App& app);
Command add_validate_command(CLI::App& app);
Command add_dump_graph_command(CLI::App& app);
Command add_lock_command(CLI::App& app);
Command add_models_command(CLI::App& app);

}  // namespace veneer::cli
