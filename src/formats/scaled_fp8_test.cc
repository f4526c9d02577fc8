#include "formats/scaled_fp8.h"

#include <gtest/gtest.h>

#include "formats/testing/safetensors_bytes.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

// Two fp8 values, 256 and -2, with a companion of the given name, dtype, shape and bytes.
ModelFile file_with(const std::string& companion, const std::string& dtype, const std::string& shape, std::string_view bytes,
                    const std::string& weight_dtype = "F8_E4M3") {
  const std::string end = std::to_string(2 + bytes.size());
  const std::string header = R"({"l.weight":{"dtype":")" + weight_dtype + R"(","shape":[2],"data_offsets":[0,2]},")" + companion + R"(":{"dtype":")" +
                             dtype + R"(","shape":)" + shape + R"(,"data_offsets":[2,)" + end + "]}}";
  const auto copy = std::make_shared<std::string>(safetensors_bytes(header, std::string("\x78\xc0", 2) + std::string(bytes)));
  return ModelFile::parse(std::as_bytes(std::span(*copy)), copy, "test.safetensors");
}

constexpr std::string_view kHalfF32("\0\0\0\x3f", 4), kHalfBf16("\0\x3f", 2), kHalfF16("\0\x38", 2);

struct Spelling {
  const char *name, *dtype, *shape;
  std::string_view bytes;
};

class ScaledFp8 : public ::testing::TestWithParam<Spelling> {};

TEST_P(ScaledFp8, ScaleBecomesPartOfTheWeight) {
  const auto tensors = tensors_with_scales(file_with(GetParam().name, GetParam().dtype, GetParam().shape, GetParam().bytes));
  ASSERT_EQ(tensors.size(), 1u);
  const Tensor& weight = tensors.find("l.weight")->second;
  EXPECT_EQ(weight.dtype(), DType::f8_e4m3fn);
  EXPECT_EQ(weight.scale(), 0.5F);
  EXPECT_EQ(to_dtype(weight, DType::f32).floats()[0], 128.0F);
}

INSTANTIATE_TEST_SUITE_P(Spellings, ScaledFp8,
                         ::testing::Values(Spelling{"l.scale_weight", "F32", "[]", kHalfF32}, Spelling{"l.scale_weight", "F32", "[1]", kHalfF32},
                                           Spelling{"l.scale_weight", "BF16", "[]", kHalfBf16}, Spelling{"l.weight_scale", "F32", "[]", kHalfF32},
                                           Spelling{"l.weight_scale", "BF16", "[1]", kHalfBf16}, Spelling{"l.weight_scale", "F16", "[]", kHalfF16}));

ErrorCode code_of(const ModelFile& file) {
  try {
    (void)tensors_with_scales(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.find("file"), "test.safetensors");
    EXPECT_NE(error.find("tensor"), "");
    return error.code();
  }
  ADD_FAILURE() << "was accepted";
  return ErrorCode::internal;
}

TEST(ScaledFp8Errors, ScalesThatAreNoPositiveNumberAreCorrupt) {
  EXPECT_EQ(code_of(file_with("l.scale_weight", "F32", "[]", std::string(4, '\0'))), ErrorCode::corrupt);
  EXPECT_EQ(code_of(file_with("l.scale_weight", "F32", "[]", std::string_view("\0\0\x80\xbf", 4))), ErrorCode::corrupt);
  EXPECT_EQ(code_of(file_with("l.scale_weight", "F32", "[]", std::string_view("\0\0\x80\x7f", 4))), ErrorCode::corrupt);
}

TEST(ScaledFp8Errors, ScalesPerRowAndOfOtherDTypesAreUnsupported) {
  EXPECT_EQ(code_of(file_with("l.weight_scale", "F32", "[2]", std::string(kHalfF32) + std::string(kHalfF32))), ErrorCode::unsupported);
  EXPECT_EQ(code_of(file_with("l.weight_scale", "F32", "[1,1]", kHalfF32)), ErrorCode::unsupported);
  EXPECT_EQ(code_of(file_with("l.weight_scale", "F64", "[]", std::string(8, '\1'))), ErrorCode::unsupported);
  EXPECT_EQ(code_of(file_with("l.weight_scale", "F32", "[]", kHalfF32, "U8")), ErrorCode::unsupported);
}

TEST(ScaledFp8Names, MarkersAndScalesOfInputsAreLeftOut) {
  EXPECT_TRUE(is_fp8_companion("scaled_fp8"));
  EXPECT_TRUE(is_fp8_companion("model.diffusion_model.scaled_fp8"));
  EXPECT_TRUE(is_fp8_companion("l.input_scale"));
  EXPECT_FALSE(is_fp8_companion("l.weight"));
  EXPECT_EQ(tensors_with_scales(file_with("scaled_fp8", "F8_E4M3", "[2]", std::string_view("\0\0", 2))).size(), 1u);
  EXPECT_EQ(tensors_with_scales(file_with("l.scale_input", "F32", "[]", kHalfF32)).size(), 1u);
  EXPECT_EQ(tensors_with_scales(file_with("other.weight_scale", "F32", "[]", kHalfF32)).size(), 2u)
      << "a scale without a weight is a tensor like others";
}

}  // namespace
}  // namespace veneer::formats
