// NodeDef: the one description of a node class. The executor, validation, /object_info and help read it; a class adds no code elsewhere.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/input_def.h"
#include "graph/inputs.h"
#include "graph/node_context.h"
#include "graph/node_result.h"

namespace veneer::graph {

// A class's own check of its inputs, made when a prompt is posted. It sees constants after conversion; linked inputs are present as none.
struct NodeValidator {
  // nullopt: fine. Otherwise why not; "" gives no reason.
  using Answer = std::optional<std::string>;
  using Check = std::function<Answer(const Environment&, const Inputs& inputs, const std::map<std::string, std::string>& input_types)>;

  std::vector<std::string> inputs;  // the inputs it takes: min, max and list checks are left to it for these
  bool takes_all = false;           // it takes every input
  bool takes_input_types = false;   // it gets {linked input: received type}, and type comparison of links is left to it
  Check check;                      // empty: no own check

  // Whether the check is there and takes the input.
  bool takes(std::string_view input) const;
};

// A result of change_fingerprint that never equals anything, itself included: the node runs on every prompt.
inline Json never_same() { return std::numeric_limits<double>::quiet_NaN(); }

struct NodeDef {
  std::string class_type;
  std::string display_name;  // "": null on the wire, the class name is shown
  std::string category;
  std::string description;
  std::string module = "nodes";  // python_module of /object_info
  std::vector<InputDef> inputs;  // in wire order; hidden ones last
  std::vector<OutputDef> outputs;

  bool output_node = false;        // a reason to run: saves, shows, ...
  bool input_is_list = false;      // called once with whole lists instead of once per element
  bool accepts_any_input = false;  // undeclared links are passed to `run` too
  bool not_idempotent = false;     // equal nodes of this class are not one: the id is part of the cache key
  bool async = false;              // `run` may be called on another thread, beside other nodes
  bool deprecated = false;
  bool experimental = false;
  bool newer_schema = false;  // /object_info always writes flags and output_tooltips, hidden values as lists

  // Does the work for one element of a list mapping (or all of them with input_is_list). Throws Error.
  std::function<NodeResult(NodeContext&, const Inputs&)> run;
  // Which inputs are still needed, by name. Lazy inputs not evaluated yet are present as none. Asked again until nothing new is named.
  std::function<std::vector<std::string>(NodeContext&, const Inputs&)> check_lazy_status;
  // Anything JSON that changes when the result would, from constants alone (linked inputs are none), e.g. a file's hash. Part of the cache key.
  // An exception counts as never_same().
  std::function<Json(const Environment&, const Inputs&)> change_fingerprint;
  NodeValidator validator;

  // nullptr when no such input is declared.
  const InputDef* input(std::string_view name) const;
  // Whether a hidden input asks for the node's own id: then the id is part of the cache key.
  bool wants_unique_id() const;
};

}  // namespace veneer::graph
