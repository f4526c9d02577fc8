// NodeCheck: the checks of one node that need no other node's result: its constants, its links' types, its class's own validator.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/environment.h"
#include "graph/node_registry.h"
#include "graph/prompt.h"
#include "graph/validation.h"
#include "graph/validation_errors.h"

namespace veneer::graph {

// The options of choices, asked for once per validation however many nodes use them.
class ChoiceCache {
 public:
  // `terse`: configs are null.
  explicit ChoiceCache(const Environment& environment, bool terse = false) : environment_(environment), terse_(terse) {}
  const Environment& environment() const { return environment_; }
  const std::vector<std::string>& options(const InputDef& input);
  // [type, options object] as in /object_info.
  Json config(const InputDef& input);
  std::string type_text(const InputDef& input);

 private:
  const Environment& environment_;
  bool terse_;
  std::unordered_map<const InputDef*, std::vector<std::string>> options_;
};

// Whether an output of type `received` may feed an input of type `wanted`: equal, "*", or a name in common.
bool types_fit(std::string_view received, std::string_view wanted);

class NodeCheck {
 public:
  // `node` is changed in place: constants become what their type makes of them.
  NodeCheck(PromptNode& node, const NodeDef& def, ChoiceCache& choices, const ValidationOptions& options)
      : node_(node), def_(def), choices_(choices), options_(options) {}

  // Checks one declared input that is no link. Throws CheckException.
  void check_constant(const InputDef& input, const Json& given);
  // Checks the link's form and type against `source`, the class behind it. Whether the node behind is worth looking at. Throws CheckException.
  bool check_link(const InputDef& input, const Json& link, const NodeDef& source);
  // The class's own check. Throws CheckException.
  void check_own();

  void add(Json error) { errors_.push_back(std::move(error)); }
  Json take_errors() { return std::move(errors_); }
  bool has_errors() const { return !errors_.empty(); }

 private:
  void check_range(const InputDef& input, const Json& value);
  void check_choice(const InputDef& input, const Json& value);
  bool refused_by_strict(const InputDef& input, const Json& value);

  PromptNode& node_;
  const NodeDef& def_;
  ChoiceCache& choices_;
  const ValidationOptions& options_;
  Json errors_ = Json::array();
  std::map<std::string, std::string> received_types_;
};

}  // namespace veneer::graph
