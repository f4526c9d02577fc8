#include "bench/checkpoint_file.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "formats/safetensors.h"
#include "models/family/random_model.h"

namespace veneer::bench {

namespace fs = std::filesystem;

CheckpointFolder::CheckpointFolder(const fs::path& parent, const fs::path& existing) {
  std::string name = (parent / "veneer_bench_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("a folder cannot be created in " + parent.string());
  folder_ = name;
  try {
    fs::create_directories(folder_ / "checkpoints");
    if (existing.empty()) {
      write_random_checkpoint(file());
    } else {
      fs::create_symlink(fs::absolute(existing), file());
    }
  } catch (...) {
    fs::remove_all(folder_);
    throw;
  }
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void write_random_checkpoint(const fs::path& path) {
  const models::WeightMap weights = models::random_sd15_tensors(DType::f16, 1);
  const std::vector<std::pair<std::string, Tensor>> tensors(weights.begin(), weights.end());
  formats::write_safetensors(path, tensors);
}

}  // namespace veneer::bench
