// ValueTracker: sees every value that really flows along an edge of a prompt, wherever it came from (a node, the cache, an expansion).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "graph/environment.h"
#include "graph/value.h"

namespace veneer::graph {

// One per prompt, made when it starts and destroyed when it has ended, on whatever path. Called from the thread that runs the prompt, but for
// `before_output`.
class ValueTracker {
 public:
  virtual ~ValueTracker() = default;
  // The first time in this prompt that an output is handed to a node; lists come element by element. Must not throw.
  virtual void add(const Value& value) noexcept = 0;
  // What the nodes of this prompt find in their environment, on whatever thread they work, in place of what all prompts share. Called once, at the
  // start.
  virtual void add_services(Environment& /*environment*/) {}
  // Before a node is called that shows or saves something. Throws Error when nothing of this prompt is to be kept.
  virtual void before_output() {}
};

// A service of the environment; without one nothing is tracked.
struct ValueTracking {
  std::function<std::unique_ptr<ValueTracker>(const std::string& prompt_id)> start;
};

}  // namespace veneer::graph
