// Where the time of a job went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veneer {

// All spans of one kind, name, shape and dtype.
struct ProfileRow {
  std::string kind;   // "op", "prepare", "network", "step", "preview", "node"
  std::string name;   // "conv2d", "unet", "KSampler", ...
  std::string shape;  // of an op: its operands; of a node: its id
  std::string dtype;  // "f32", "bf16" or ""
  uint64_t calls = 0;
  double seconds = 0;        // without what lies within them in other rows
  double total_seconds = 0;  // with it
  double flops = 0;          // of matrix work, 2 per multiply-add
  double bytes = 0;          // that had to be read and written
};

struct ProfileReport {
  double wall_seconds = 0;       // from the first span's begin to the last one's end
  std::vector<ProfileRow> rows;  // by their own time, the largest first

  // Evaluations of the diffusion network, and which parts of their time went into convolutions, matrix products and attention, into other ops, and
  // into none.
  uint64_t unet_calls = 0;
  double unet_seconds = 0;
  double unet_matrix_share = 0, unet_other_share = 0, unet_rest_share = 0;
  double unet_flops = 0;

  // Steps of samplers but the first of each, which makes what later ones find: the part of them outside of the diffusion network.
  uint64_t steps = 0;
  double step_seconds = 0;  // in all
  double step_outside_share = 0;

  uint64_t dropped = 0;  // spans that were too many to keep
  // The spans in the Trace Event Format of Chrome and Perfetto: JSON.
  std::string trace;
};

}  // namespace veneer
