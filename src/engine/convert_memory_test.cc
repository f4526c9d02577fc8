// What a conversion takes of memory, by the system's own account.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "formats/safetensors_header.h"
#include "formats/testing/temp_directory.h"
#include "veneer/model_files.h"

namespace veneer {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// "VmHWM" is the most that was in memory since the last reset, mapped files included.
uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

bool reset_peak() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5";
  out.flush();
  return out.good();
}

// Tensors of zeros that take no place on the disk.
std::string sparse_file(const std::filesystem::path& path, int tensors, uint64_t each) {
  std::vector<formats::SafetensorsEntry> entries;
  for (int i = 0; i < tensors; ++i) {
    const uint64_t begin = static_cast<uint64_t>(i) * each;
    entries.push_back({"t" + std::to_string(i), DType::f16, Shape({static_cast<int64_t>(each / 2)}), begin, begin + each});
  }
  const std::string json = formats::safetensors_header_json(entries, {});
  std::string head;
  for (size_t i = 0; i < 8; ++i) head += static_cast<char>((json.size() >> (8 * i)) & 0xffU);
  std::ofstream(path, std::ios::binary) << head + json;
  std::filesystem::resize_file(path, head.size() + json.size() + static_cast<uint64_t>(tensors) * each);
  return path.string();
}

TEST(ConvertMemory, PeakIsAtMostTheLargestTensorAnd64MB) {
  constexpr uint64_t kLargest = 24 * kMiB;
  const formats::TempDirectory folder;
  const std::string source = sparse_file(folder.path() / "source.safetensors", 6, kLargest);
  for (const char* dtype : {"", "bf16"}) {
    if (!reset_peak()) GTEST_SKIP() << "the system does not let a process reset its peak of memory";
    const uint64_t before = status_bytes("VmRSS");
    convert_model({.source = source, .target = (folder.path() / "target.safetensors").string(), .dtype = dtype, .replace = true});
    EXPECT_LT(status_bytes("VmHWM"), before + kLargest + 64 * kMiB) << dtype;
  }
}

}  // namespace
}  // namespace veneer
