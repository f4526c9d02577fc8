// CallState: all that belongs to one call of a plug-in's function. Handles are looked up here and die with it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_builder.h"
#include "graph/inputs.h"
#include "graph/node_context.h"
#include "graph/node_def.h"
#include "graph/node_result.h"
#include "graph/value.h"
#include "veneer/plugin_abi.h"

namespace veneer::plugins {

// Which of a class's functions is being called.
enum class Phase : uint8_t { run, check_lazy, change_fingerprint, validate };

// The members are guarded by `mutex`, which each function of the host holds; `closed` is set when the call has returned.
struct CallState {
  CallState(VeneerCall id_, Phase phase_, const graph::NodeDef& def_, const graph::Inputs& inputs_)
      : id(id_), phase(phase_), def(def_), inputs(inputs_) {}

  const VeneerCall id;
  const Phase phase;
  const graph::NodeDef& def;
  const graph::Inputs& inputs;
  graph::NodeContext* context = nullptr;                            // of `run` and `check_lazy`
  const std::map<std::string, std::string>* input_types = nullptr;  // of `validate`

  std::mutex mutex;
  bool closed = false;
  std::string error;                // of the last failure
  std::deque<graph::Value> values;  // references stay valid
  std::deque<std::string> texts;    // what was handed out as text

  graph::NodeResult result;
  std::optional<graph::GraphBuilder> graph;
  std::vector<graph::GraphBuilder::Node*> graph_nodes;
  std::vector<std::string> needed;
  graph::Json fingerprint;
  std::optional<std::string> refusal;

  // A handle for the value; 0 for none. Throws Error(invalid) beyond 16 million values.
  VeneerValue handle_of(graph::Value value);
  // Throws EndedHandle for a handle of another call or a made-up one.
  const graph::Value& value_of(VeneerValue handle) const;
  // Text that lasts as long as the call.
  VeneerText keep(std::string text);
};

// The handle belongs to no call under way.
struct EndedHandle {};

}  // namespace veneer::plugins
