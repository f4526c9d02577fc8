#include "graph/execution_observer.h"

namespace veneer::graph {

Json ExecutionErrorEvent::to_json() const {
  Json json = Json::object();
  json["prompt_id"] = prompt_id;
  json["node_id"] = node_id;
  json["node_type"] = node_type;
  json["executed"] = executed;
  json["exception_message"] = exception_message;
  json["exception_type"] = exception_type;
  json["traceback"] = traceback;
  json["current_inputs"] = current_inputs;
  json["current_outputs"] = current_outputs;
  return json;
}

Json ExecutionInterruptedEvent::to_json() const {
  Json json = Json::object();
  json["prompt_id"] = prompt_id;
  json["node_id"] = node_id;
  json["node_type"] = node_type;
  json["executed"] = executed;
  return json;
}

}  // namespace veneer::graph
