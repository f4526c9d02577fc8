// Workflows without running them: conversion of the editor's form, validation, the graph, and locks. The functions are Engine's. See
// docs/workflows.md and docs/production.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace veneer {

// Something about a workflow that its owner wants to know.
struct WorkflowFinding {
  enum class Severity {
    error,    // it would not run, or not as it was meant
    warning,  // it runs here, and may not elsewhere; an error in strict mode
    note,     // only worth knowing
  };
  Severity severity = Severity::error;
  std::string node;                  // id, "5:3" within a subgraph; "" when it is about the whole
  std::string class_type;            // or ""
  std::string input;                 // or ""
  std::string rule;                  // a word for machines: "value_not_in_list", "absolute_path", ...; the list is in docs/workflows.md
  std::string message;               // for people
  std::string value;                 // the value in question as JSON, or ""
  std::vector<std::string> allowed;  // values, or one range; at most 60 of them
  std::vector<std::string> nearest;  // what may have been meant
};

// A model file that a workflow names.
struct WorkflowModel {
  std::string node, class_type, input;
  std::string kind;       // its folder: "checkpoints", "loras", ...
  std::string reference;  // as the workflow has it
  std::string name;       // in its folder; "" when it does not exist
  std::string file;       // its path, or ""
  uint64_t size_bytes = 0;
  std::string sha256;  // "" when it is not known
  std::string type;    // what the file is: "checkpoint", "lora", "vae", ...; "" when it is not recognised or not read
  std::string family;  // "sd1", "sdxl", ..., or ""
};

// While a file is hashed: its path, bytes done and in all. May throw to stop.
using HashProgress = std::function<void(const std::string& file, uint64_t done, uint64_t all)>;

struct ValidateOptions {
  bool strict = false;       // warnings count as errors, and values have to be of the declared types
  bool check_models = true;  // opens the files that are named, reading their headers
  std::string lock = {};     // text of a lock file: its models have to be the ones that are here
  // While a file is hashed: bytes done and in all. May throw to stop it.
  std::function<void(const std::string& file, uint64_t done, uint64_t all)> on_hash = {};
};

struct WorkflowReport {
  bool valid = false;
  std::string form;  // "api" or "editor"
  size_t nodes = 0;
  std::vector<WorkflowFinding> findings;  // errors first, then in the order of the nodes
  std::vector<WorkflowModel> models;
  size_t count(WorkflowFinding::Severity severity) const;
};

// A workflow in API format.
struct ConvertedWorkflow {
  std::string prompt;  // JSON
  bool from_editor = false;
  size_t nodes = 0;
  std::vector<WorkflowFinding> findings;  // errors: what of the workflow is missing
};

enum class GraphFormat : uint8_t {
  json,  // {"nodes": [...]} in the order of execution, each with class_type, inputs, models, signature, ...: docs/workflows.md
  dot,   // for Graphviz
  svg,   // a picture
};

// A copy of a workflow, in its own form, that names what it needs as other machines do too.
struct PortableWorkflow {
  std::string text;                      // JSON
  std::vector<WorkflowFinding> changes;  // notes: `value` is the old one, `nearest` the new one
};

}  // namespace veneer
