// Small files of every format, cut at every byte and with each bit flipped in turn.
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/testing/model_files.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

struct Sample {
  const char* file;
  // Whether a changed header cannot go unseen: the zip form has checksums, in the others ranges have to meet. The older form of torch has neither.
  bool checked;
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.file; }

class Damaged : public ::testing::TestWithParam<Sample> {};

TEST_P(Damaged, CutAnywhereIsAnError) {
  const std::string whole = read_whole(model_file_path(GetParam().file));
  const std::vector<std::string> content = tensor_bytes(parse_model(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    try {
      // What may be missing is padding behind the last tensor.
      EXPECT_EQ(tensor_bytes(parse_model(whole.substr(0, size))), content) << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.find("file"), "test") << size << ": " << error.what();
    }
  }
}

TEST_P(Damaged, AFlippedBitIsAnErrorOrLeavesTheContent) {
  std::string bytes = read_whole(model_file_path(GetParam().file));
  const ModelFile good = parse_model(bytes);
  const std::vector<std::string> content = tensor_bytes(good);
  std::vector<bool> is_data(bytes.size());
  for (const std::string& tensor : content) {
    for (size_t at = bytes.find(tensor); !tensor.empty() && at != std::string::npos; at = bytes.find(tensor, at + 1)) {
      std::fill_n(is_data.begin() + static_cast<std::ptrdiff_t>(at), tensor.size(), true);
    }
  }
  size_t errors = 0, tried = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (is_data[at]) continue;
    for (int bit = 0; bit < 8; ++bit) {
      ++tried;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      try {
        const std::vector<std::string> now = tensor_bytes(parse_model(bytes));
        if (GetParam().checked) {
          EXPECT_EQ(now, content) << "byte " << at << " bit " << bit;
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.find("file"), "test") << error.what();
        ++errors;
      }
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    }
  }
  EXPECT_GT(errors, tried / 10);
}

INSTANTIATE_TEST_SUITE_P(Formats, Damaged,
                         ::testing::Values(Sample{"torch2_fp8.safetensors", true}, Sample{"torch.safetensors", true}, Sample{"my model.ckpt", true},
                                           Sample{"packed_again.ckpt", true}, Sample{"torch_old.ckpt", false}, Sample{"small.gguf", true}));

}  // namespace
}  // namespace veneer::formats
