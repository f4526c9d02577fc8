// Prompt: a workflow in API format: node id -> {"class_type", "inputs", ...}, in the order it was posted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/json.h"
#include "graph/node_result.h"

namespace veneer::graph {

struct PromptLimits {
  size_t max_nodes = 200'000;
  size_t max_inputs = 4096;  // of one node
};

// `members` is the node's JSON object; only these accessors know its layout.
struct PromptNode {
  std::string id;
  std::string class_type;
  Json members;

  // The inputs object, or nullptr when there is none.
  const Json* inputs() const;
  // The value of one input, or nullptr.
  const Json* input(std::string_view name) const;
  // Replaces the value of an input that is there, or adds it.
  void set_input(const std::string& name, Json value);
};

// A rule that a prompt's structure breaks, in the terms of the server's `error` object.
struct PromptFault {
  std::string type;     // "invalid_prompt", "no_prompt", ...
  std::string message;  // the rule
  std::string details;  // where: "Node ID '#1'"
  std::string node_id;  // "" when no node is to blame
};

class Prompt {
 public:
  // Checks the structure only: an object of objects with a text class_type and an `inputs` object if any. An empty array is an empty prompt.
  // On a fault returns nullopt and fills `fault`.
  static std::optional<Prompt> parse(Json json, PromptFault& fault, const PromptLimits& limits = {});
  // The same, throwing Error(invalid) with `node`.
  static Prompt from_json(Json json, const PromptLimits& limits = {});

  const std::vector<PromptNode>& nodes() const { return nodes_; }
  size_t size() const { return nodes_.size(); }
  // Index in nodes(), or kNone.
  static constexpr size_t kNone = static_cast<size_t>(-1);
  size_t index_of(std::string_view id) const;
  const PromptNode* find(std::string_view id) const;
  PromptNode* find(std::string_view id);
  PromptNode& node_at(size_t index) { return nodes_[index]; }

  // The prompt as JSON again, with all changes made to it.
  Json to_json() const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<PromptNode> nodes_;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> index_;
};

// Whether the JSON is the form that the editor saves ({"nodes": [...], "links": [...]}) rather than a prompt.
bool is_editor_workflow(const Json& json);

// A two-element array of text and whole number is an edge. Slot numbers outside of int's range are none.
std::optional<Link> as_link(const Json& value);
// {"__value__": x} stands for x, the way to write an array that is no link.
const Json& unwrapped(const Json& value);
// What a node gets for the value of an input: a Link, or the constant.
Source source_of(const Json& value);

}  // namespace veneer::graph
