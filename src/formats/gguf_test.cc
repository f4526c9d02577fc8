// Files that the package gguf wrote (tests/files/formats/make_gguf_files.py), and the values that it reads from them.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/testing/model_files.h"
#include "formats/testing/temp_directory.h"
#include "tensor/convert.h"
#include "tensor/quantised_blocks.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

TEST(Gguf, EveryTypeGivesTheValuesOfTheReferenceToTheBit) {
  const ModelFile file = ModelFile::open(model_file_path("quantised.gguf")), want = ModelFile::open(model_file_path("quantised.safetensors"));
  EXPECT_EQ(file.format(), "gguf");
  EXPECT_EQ(file.entries().size(), 13u);
  for (const ModelFile::Entry& entry : file.entries()) {
    const Tensor got = to_dtype(file.tensor(entry.name), DType::f32), expected = want.tensor(entry.name);
    ASSERT_EQ(got.shape(), expected.shape()) << entry.name;
    EXPECT_EQ(std::memcmp(got.bytes(), expected.bytes(), got.size_bytes()), 0) << entry.name;
  }
}

TEST(Gguf, QuantisesToTheBlocksOfTheReference) {
  const ModelFile file = ModelFile::open(model_file_path("quantised.gguf")), source = ModelFile::open(model_file_path("quantised.safetensors"));
  for (const char* type : {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0"}) {
    const Tensor want = file.tensor("model." + std::string(type) + ".weight"),
                 values = to_dtype(source.tensor("source." + std::string(type)), DType::f32);
    std::vector<std::byte> blocks(want.size_bytes());
    quantise_blocks(dtype_from_string(type), values.floats(), blocks.data());
    EXPECT_EQ(std::memcmp(blocks.data(), want.bytes(), blocks.size()), 0) << type;
  }
}

TEST(Gguf, MetadataAreText) {
  const ModelFile file = ModelFile::open(model_file_path("quantised.gguf"));
  const auto& metadata = file.metadata();
  EXPECT_EQ(metadata.at("general.architecture"), "sd1");
  EXPECT_EQ(metadata.at("general.author"), "Veneer");
  EXPECT_EQ(metadata.at("test.u64"), "9223372036854775808");
  EXPECT_EQ(metadata.at("test.array"), "[1, 2, 3]");
  EXPECT_EQ(metadata.at("test.texts"), "[a, b]");
  EXPECT_EQ(metadata.at("test.long"), "[100 values]");
  EXPECT_EQ(metadata.at("test.flag"), "true");
  EXPECT_EQ(metadata.at("test.float"), "0.5");
}

TEST(Gguf, FlattenedTensorsHaveTheirOwnShapeAgain) {
  const ModelFile file = ModelFile::open(model_file_path("small.gguf"));
  EXPECT_EQ(file.tensor("a").shape(), Shape({2, 4, 4}));
  EXPECT_EQ(file.tensor("b").shape(), Shape({16}));
}

TEST(Gguf, RowsOfAQuantisedTensorAreSlices) {
  const Tensor weight = ModelFile::open(model_file_path("quantised.gguf")).tensor("model.q4_k.weight");
  const Tensor all = to_dtype(weight, DType::f32), row = to_dtype(weight.slice(1, 1), DType::f32);
  EXPECT_EQ(std::memcmp(row.bytes(), all.slice(1, 1).bytes(), row.size_bytes()), 0);
  std::vector<float> middle(300);  // begins and ends within blocks
  copy_range_to_f32(weight, 100, middle);
  EXPECT_EQ(std::memcmp(middle.data(), all.floats().data() + 100, middle.size() * sizeof(float)), 0);
}

std::string with(std::string bytes, size_t at, std::string_view other) { return bytes.replace(at, other.size(), other); }

std::string text_of_error(const std::string& bytes) {
  try {
    (void)parse_model(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.find("file"), "test");
    return error.text();
  }
  return "accepted";
}

TEST(Gguf, MalformedHeadersAreRefused) {
  const std::string good = read_whole(model_file_path("small.gguf"));
  const std::string huge(8, '\xff');
  EXPECT_EQ(text_of_error(with(good, 4, std::string("\1\0\0\0", 4))), "gguf: version is not supported");
  EXPECT_EQ(text_of_error(with(good, 4, std::string("\0\0\0\3", 4))), "gguf: version is not supported");
  EXPECT_EQ(text_of_error(with(good, 8, huge)), "gguf: too many tensors or keys");
  EXPECT_EQ(text_of_error(with(good, 16, huge)), "gguf: too many tensors or keys");
  EXPECT_EQ(text_of_error(with(good, 24, huge)), "gguf: file is truncated: text leaves it");
  const size_t b = good.find("\x01\0\0\0\0\0\0\0b", 0, 9);
  ASSERT_NE(b, std::string::npos);
  EXPECT_EQ(text_of_error(with(good, b + 8, "a")), "gguf: tensor name is there twice");
  EXPECT_EQ(text_of_error(with(good, b + 9, "\x09")), "gguf: shape has too many dimensions");
  EXPECT_EQ(text_of_error(with(good, b + 13, huge)), "gguf: extent is too large");
  EXPECT_EQ(text_of_error(with(good, b + 21, "\x10")), "gguf: type of the tensor is not supported");  // IQ2_XXS
  EXPECT_EQ(text_of_error(with(good, b + 21, "\x08")), "gguf: row of the tensor is not made of whole blocks");
  EXPECT_EQ(text_of_error(with(good, b + 25, "\x20")), "gguf: tensor does not follow the one before it");
  EXPECT_EQ(text_of_error(good + std::string(64, 'x')), "gguf: bytes after the last tensor");
}

}  // namespace
}  // namespace veneer::formats
