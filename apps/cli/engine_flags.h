// The flags that commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "veneer/engine.h"

namespace veneer::cli {

// `this` must outlive the parse of the flags that were added.
struct EngineFlags {
  EngineOptions options;
  std::string profile_file;  // where the trace of a job goes; empty: nowhere
  bool json = false;         // one JSON object on standard output and nothing else there

  // Everything: for commands that run something.
  void add_to(CLI::App& app);

  // The parts of it. --models and --json.
  void add_model_flags(CLI::App& app);
  // --custom-nodes, --disable-all-custom-nodes.
  void add_plugin_flags(CLI::App& app);
  // --dtype, --threads, --isa.
  void add_compute_flags(CLI::App& app);
  // --input, --output, --temp.
  void add_folder_flags(CLI::App& app);
  // --memory-budget, --pinned-budget, --lora-apply-mode, --residency.
  void add_memory_flags(CLI::App& app);
  // --profile.
  void add_profile_flag(CLI::App& app);
  // --patch-compat.
  void add_patch_flags(CLI::App& app);
};

}  // namespace veneer::cli
