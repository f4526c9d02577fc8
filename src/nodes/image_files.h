// Naming and writing of pictures as ComfyUI's clients expect them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graph/json.h"
#include "tensor/tensor.h"

namespace veneer::nodes {

class OutputCounters;

struct SaveRequest {
  std::filesystem::path folder;        // the output or temp folder
  std::string type;                    // "output" or "temp": how clients name that folder
  std::string filename_prefix;         // may hold sub-folders and %width%, %height%, %batch_num%, %year%, %month%, %day%, %hour%, %minute%, %second%
  graph::Json prompt;                  // null: no text chunk
  graph::Json extra_pnginfo;           // null, or an object: one text chunk per member
  OutputCounters* counters = nullptr;  // null: the folder is read
  // Whether the pictures are to survive a machine that stops. Waiting for the disk takes longer than all else of a small job.
  bool durable = true;
};

// Writes each picture of `images` ([N, H, W, 3] f32) as "<prefix>_<counter>_.png" and returns the record for the editor, {"images": [{filename,
// subfolder, type}, ...]}. The counter goes on from the highest number in the folder. A name is taken by creating the file, so two writers never
// share one. Throws Error(invalid) for a prefix that leaves the folder, Error(internal) when the file system refuses.
graph::Json save_images(const SaveRequest& request, const Tensor& images);

}  // namespace veneer::nodes
