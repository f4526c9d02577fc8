// Which tensors of a file go into its conversion, and under which names.
#pragma once

#include <string>
#include <vector>

#include "formats/model_file.h"

namespace veneer::engine {

struct SelectedTensor {
  std::string source;  // its name in the file
  std::string target;
};

struct Selection {
  std::vector<SelectedTensor> tensors;  // in the order of the file
  size_t num_left_out = 0;
};

// `extract`: "", "unet", "vae" or "clip". Throws Error(invalid) naming the allowed parts, or what a part's names would begin with when there are
// none.
Selection select_tensors(const formats::ModelFile& file, const std::string& extract, bool prune_ema, bool strip);

}  // namespace veneer::engine
