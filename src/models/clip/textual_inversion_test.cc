#include "models/clip/textual_inversion.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "veneer/error.h"

namespace veneer::models {
namespace {

// A safetensors file with a header and zeros behind it.
formats::ModelFile file_of(const std::string& header, size_t data_bytes) {
  auto bytes = std::make_shared<std::vector<std::byte>>(8 + header.size() + data_bytes);
  const uint64_t size = header.size();
  std::memcpy(bytes->data(), &size, sizeof size);
  std::memcpy(bytes->data() + 8, header.data(), header.size());
  return formats::ModelFile::parse(*bytes, bytes, "test.safetensors");
}

TEST(TextualInversion, TakesTheFirstTensor) {
  const auto file = file_of(R"({"emb_params":{"dtype":"F32","shape":[2,4],"data_offsets":[0,32]}})", 32);
  EXPECT_EQ(read_textual_inversion(file, sd1_clip_l()).shape(), Shape({2, 4}));
}

TEST(TextualInversion, TakesTheEncodersOwnTensorFromAFileForSeveral) {
  const auto file =
      file_of(R"({"clip_g":{"dtype":"F16","shape":[1,8],"data_offsets":[0,16]},"clip_l":{"dtype":"F16","shape":[1,4],"data_offsets":[16,24]}})", 24);
  EXPECT_EQ(read_textual_inversion(file, sd1_clip_l()).shape(), Shape({1, 4}));
}

TEST(TextualInversion, RefusesAFileWithoutTensors) { EXPECT_THROW(read_textual_inversion(file_of("{}", 0), sd1_clip_l()), Error); }

}  // namespace
}  // namespace veneer::models
