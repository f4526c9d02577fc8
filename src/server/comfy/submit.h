// From a posted prompt to a job in the queue.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/validation.h"
#include "server/http/message.h"
#include "server/services.h"

namespace veneer::server {

struct Submission {
  Json prompt;
  Json extra_data = Json::object();
  std::string prompt_id;
  std::string client_id;
  std::optional<double> number;
  bool front = false;
  std::optional<std::vector<std::string>> targets;  // partial_execution_targets
  std::string idempotency_key;
  std::string owner;
};

struct Submitted {
  jobs::JobPtr job;
  Json node_errors;  // of the outputs that were left out
};

// The body of POST /prompt; prompts in the form that the editor saves are converted. Throws HttpError(400).
Submission read_submission(const Request& request, const Json& body, const graph::NodeRegistry& registry);

graph::Validation validate(const Services& services, Submission& submission);

// {"error", "node_errors"} with 400, for a validation that refuses.
Response refusal(const graph::Validation& validation);

// Whether the validation lets the prompt run, as the server is set up.
bool acceptable(const Services& services, const graph::Validation& validation);

// Queues what was validated. Throws HttpError: 429 when the queue is full, 503 while the server shuts down.
Submitted submit(Services& services, Submission submission, graph::Validation validation);

}  // namespace veneer::server
