// The corpora of the fuzz targets, so that what a fuzzer once found stays fixed in builds without one.
#include <gtest/gtest.h>

#include "formats/image_file.h"
#include "formats/testing/model_files.h"
#include "formats/testing/safetensors_bytes.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

std::vector<std::filesystem::path> corpus(const char* format) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(VENEER_SOURCE_DIR) / "tests/corpus" / format)) {
    files.push_back(entry.path());
  }
  return files;
}

TEST(Corpus, EverySafetensorsFileIsReadOrRefused) {
  size_t read = 0, refused = 0;
  for (const std::filesystem::path& path : corpus("safetensors")) {
    try {
      const ModelFile file = parse_bytes(read_whole(path));
      for (const auto& entry : file.entries()) EXPECT_EQ(file.tensor(entry.name).clone().size_bytes(), entry.size_bytes) << path;
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt) << path;
      ++refused;
    }
  }
  EXPECT_GT(read, 0u);
  EXPECT_GT(refused, 0u);
}

// Torch files, pickles without one, and GGUF files.
TEST(Corpus, EveryModelFileIsReadOrRefused) {
  size_t read = 0, refused = 0;
  for (const char* format : {"pickle", "gguf"}) {
    for (const std::filesystem::path& path : corpus(format)) {
      try {
        const ModelFile file = parse_model(read_whole(path), path.string());
        EXPECT_EQ(tensor_bytes(file).size(), file.entries().size());
        ++read;
      } catch (const Error& error) {
        EXPECT_EQ(error.find("file"), path.string()) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 0u);
  EXPECT_GT(refused, 0u);
}

TEST(Corpus, EveryImageIsReadOrRefused) {
  size_t read = 0;
  for (const std::filesystem::path& path : corpus("image")) {
    try {
      (void)read_image(path);
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.find("file"), path.string());
    }
  }
  EXPECT_GE(read, 8u);
}

}  // namespace
}  // namespace veneer::formats
