// Job: one prompt on its way from the post to the history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "graph/json.h"
#include "graph/prompt.h"
#include "jobs/job_state.h"

namespace veneer::jobs {

// Immutable once queued, so that any thread may read it. Text members are JSON as it goes over the wire.
struct Job {
  int64_t sequence = 0;              // given by the queue: unique, in order of arrival
  std::string id;                    // prompt_id; clients may use one again for another job
  graph::Json number;                // the place in the queue as the client sees it: lower runs first
  graph::Prompt prompt;              // validated
  graph::Json extra_data;            // the request's extra_data, less what is secret, with client_id
  std::vector<std::string> outputs;  // output nodes to run
  std::string dropped;               // node_errors of the outputs that validation refused; "" for none
  std::string client_id;             // whose messages these are; "" for nobody's
  std::string owner;                 // name of the API key; "" without keys
  std::string idempotency_key;       // "" for none
  int64_t created_ms = 0;
  int attempts = 0;                                   // runs that the end of the program cut short
  std::string prompt_text, extra_text, outputs_text;  // of the members above
  CancelToken cancel;

  // [number, id, prompt, extra_data, outputs]: an entry of GET /queue.
  std::string wire_text() const;
};

// How a job ended.
struct JobResult {
  JobState state = JobState::failed;
  int64_t started_ms = 0, ended_ms = 0;
  std::string outputs = "{}";  // node id -> record for the editor
  std::string status = "{}";   // {"status_str", "completed", "messages"}
  std::string meta = "{}";
  std::string preview;    // the first picture: {"filename", "subfolder", "type", "nodeId", "mediaType"}; "" for none
  int outputs_count = 0;  // files and other items in `outputs`
  std::string error;      // the execution_error message; "" for none
};

}  // namespace veneer::jobs
