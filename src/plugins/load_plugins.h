// Loading all plug-ins at start.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "graph/node_def.h"

namespace veneer::plugins {

struct LoadOptions {
  std::vector<std::string> folders;
  std::vector<std::string> probe;  // see probe_library; empty: plug-ins are loaded without trying them first
  std::chrono::milliseconds probe_limit{30'000};
};

// What became of one plug-in.
struct Report {
  std::string name;
  std::string file;
  std::vector<std::string> classes;  // empty when it was refused
  std::string refused;               // why; "" when it was not
};

struct Loaded {
  std::vector<graph::NodeDef> nodes;
  std::vector<Report> reports;  // in the order in which they were looked at: folder by folder, then by name
};

// A plug-in is taken whole or not at all: a class that `is_taken` or that an earlier one has refuses all of it. Throws Error(not_found) for a folder
// that is not there, and nothing for faulty plug-ins.
Loaded load_plugins(const LoadOptions& options, const std::function<bool(const std::string& class_type)>& is_taken);

}  // namespace veneer::plugins
