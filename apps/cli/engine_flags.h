// The flags that every command which runs something shares.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "veneer/engine.h"

namespace veneer::cli {

struct EngineFlags {
  EngineOptions options;
  bool json = false;  // one JSON object on standard output and nothing else there

  // Adds --models, --input, --output, --temp, --dtype, --threads, --isa and --json. `this` must outlive the parse.
  void add_to(CLI::App& app);
};

}  // namespace veneer::cli
