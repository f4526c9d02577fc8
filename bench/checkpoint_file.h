// A checkpoint file of SD 1.5's size with random weights: the same bytes on every machine.
#pragma once

#include <filesystem>

namespace veneer::bench {

// A folder with checkpoints/sd15-random.safetensors (2.1 GB, f16). Removed with this object.
class CheckpointFolder {
 public:
  // In a new folder of `parent`. `existing`: a file to be used in place of a new one, or empty. Throws std::runtime_error naming the folder.
  CheckpointFolder(const std::filesystem::path& parent, const std::filesystem::path& existing);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  static constexpr const char* kName = "sd15-random.safetensors";
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file() const { return folder_ / "checkpoints" / kName; }

 private:
  std::filesystem::path folder_;
};

// Writes such a file.
void write_random_checkpoint(const std::filesystem::path& path);

}  // namespace veneer::bench
