// One picture in a process of its own: what it takes from the process's start on, and how much memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace veneer::bench {

struct PictureRequest {
  std::filesystem::path models;  // a folder with checkpoints/sd15-random.safetensors
  int width = 512, steps = 20;
  std::string dtype = "auto";
  int threads = 0;
};

struct PictureResult {
  double seconds = 0;               // from the start of the process to the picture in its file
  double start_seconds = 0;         // from there to the first step's end, less what a step takes
  double step_seconds = 0;          // the mean of all steps but the first
  double outside_share = 0;         // of those steps outside of the UNet
  double unet_seconds = 0;          // all evaluations
  double weights_bytes = 0;         // the most ready-to-run weights at a time
  double first_weights_bytes = 0;   // those of the first step: the text encoder's and the UNet's
  double peak_bytes = 0;            // the most memory of the process's own, sampled every few milliseconds
  double peak_with_file_bytes = 0;  // the same with the pages of the mapped file
};

// Runs this program again. Throws std::runtime_error with what it said.
PictureResult run_picture(const PictureRequest& request);

// The other process: arguments behind --child. Returns its exit code.
int picture_child(int argc, char** argv);

}  // namespace veneer::bench
