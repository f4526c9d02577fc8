// What a run of a workflow is given, what it tells while it runs, and what comes out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veneer/image.h"
#include "veneer/profile.h"

namespace veneer {

// A report while a job runs, from the thread that runs it.
struct ProgressEvent {
  enum class Kind {
    node_started,   // a node begins
    step,           // `step` of `steps` of the node are done (sampling steps, tiles, ...)
    node_finished,  // the node's outputs are there
    node_cached,    // the outputs were still there from an earlier run
  };
  Kind kind = Kind::node_started;
  std::string node;        // id in the workflow
  std::string class_type;  // "KSampler"
  int step = 0;
  int steps = 0;
};

// A picture that a node saved.
struct SavedImage {
  std::string node;      // id of the node that saved it
  std::string path;      // of the file
  std::string filename;  // name, sub-folder and type as ComfyUI's clients know them
  std::string subfolder;
  std::string type;  // "output" or "temp"
  Image pixels;      // empty unless keep_pixels
};

struct JobOptions {
  // Values that replace a node's inputs before the run: ("3.steps", "30"). The value is read as JSON where it is JSON, else as text.
  std::vector<std::pair<std::string, std::string>> set = {};
  // Replaces every input named "seed" or "noise_seed" that is not linked.
  std::optional<uint64_t> seed = {};
  std::function<void(const ProgressEvent&)> on_progress = {};
  // Called for each picture as soon as its file is there, so that it is known even if the job fails or is cancelled later. Its pixels are empty. From
  // the thread that runs the job; must not throw.
  std::function<void(const SavedImage&)> on_saved = {};
  // Asked some thirty times a second from a thread of its own while the job runs; true ends the job with Error(cancelled), within the block of the
  // network that is being computed. No file is left half written.
  std::function<bool()> cancelled = {};
  // Whether JobResult::images carries the pixels of saved pictures too.
  bool keep_pixels = false;
};

struct JobResult {
  std::vector<SavedImage> images;    // in the order they were saved
  std::vector<std::string> reports;  // what a caller may want to weigh: adapter keys that matched nothing, ...
  std::string outputs_json;          // per output node, the record that ComfyUI keeps in its history
  int nodes_run = 0;
  int nodes_cached = 0;
  std::optional<ProfileReport> profile = {};  // with EngineOptions::profile
};

}  // namespace veneer
