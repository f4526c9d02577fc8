// What a fault of validation is about, for those that put it into words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/node_registry.h"
#include "graph/prompt.h"

namespace veneer::engine {

// Longer lists of allowed values are cut: a person does not read them, and the nearest ones are named besides.
inline constexpr size_t kMostAllowed = 60;

// A text as it is, anything else as JSON.
std::string text_of(const graph::Json& value);
std::string join(const std::vector<std::string>& names, const char* separator);

// Options that look like the one that was asked for, whose extension may be missing.
std::vector<std::string> nearest_options(const std::string& received, const std::vector<std::string>& options);

// "INT from 1 to 100".
std::string range_of(const graph::InputDef& input);

// The value in question; null when the fault is about no value or about a link. `extra`: the fault's extra_info.
graph::Json value_of(const graph::Json& extra, const graph::PromptNode* node, const std::string& input);

struct BrokenLink {
  std::string text, input;
  graph::Json link;
  std::string outputs;  // what the node behind the link has; empty: there is no such node
};

// The link to nothing among the inputs of a node whose check ended with an exception. The fault does not have it: its input and link are those by
// which the check came to the node.
std::optional<BrokenLink> broken_link(const graph::PromptNode& node, const graph::NodeDef& def, const graph::Prompt& prompt,
                                      const graph::NodeRegistry& registry);

}  // namespace veneer::engine
