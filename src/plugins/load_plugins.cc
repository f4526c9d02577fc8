#include "plugins/load_plugins.h"

#include <iterator>
#include <unordered_map>

#include "plugins/find_plugins.h"
#include "plugins/library.h"
#include "plugins/probe.h"
#include "veneer/error.h"

namespace veneer::plugins {
namespace {

// Throws Error with the reason if the plug-in is not to be had.
std::vector<graph::NodeDef> load_one(const Candidate& candidate, const LoadOptions& options) {
  if (!candidate.refused.empty()) throw Error(ErrorCode::invalid, candidate.refused);
  if (!options.probe.empty()) {
    const std::string reason = probe_library(options.probe, std::filesystem::absolute(candidate.file), options.probe_limit);
    if (!reason.empty()) throw Error(ErrorCode::invalid, reason);
  }
  return load_library(std::filesystem::absolute(candidate.file), candidate.name);
}

}  // namespace

Loaded load_plugins(const LoadOptions& options, const std::function<bool(const std::string&)>& is_taken) {
  Loaded loaded;
  std::unordered_map<std::string, std::string> owners;  // class -> plug-in
  std::unordered_map<std::string, std::string> files;   // plug-in -> file
  for (const std::string& folder : options.folders) {
    for (const Candidate& candidate : find_plugins(folder)) {
      Report report{.name = candidate.name, .file = candidate.file.string(), .classes = {}, .refused = {}};
      try {
        if (files.contains(candidate.name)) throw Error(ErrorCode::invalid, "another plug-in has its name", {{"file", files[candidate.name]}});
        std::vector<graph::NodeDef> nodes = load_one(candidate, options);
        for (const graph::NodeDef& node : nodes) {
          if (is_taken(node.class_type)) throw Error(ErrorCode::invalid, "it registers a class that is built in", {{"class", node.class_type}});
          const auto other = owners.find(node.class_type);
          if (other != owners.end()) {
            throw Error(ErrorCode::invalid, "it registers a class that another plug-in has", {{"class", node.class_type}, {"plugin", other->second}});
          }
        }
        files.emplace(candidate.name, report.file);
        for (const graph::NodeDef& node : nodes) {
          owners.emplace(node.class_type, candidate.name);
          report.classes.push_back(node.class_type);
        }
        std::move(nodes.begin(), nodes.end(), std::back_inserter(loaded.nodes));
      } catch (const std::exception& error) {
        report.refused = error.what();
      }
      loaded.reports.push_back(std::move(report));
    }
  }
  return loaded;
}

}  // namespace veneer::plugins
